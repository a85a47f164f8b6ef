"""MLflow: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.errors import ConfigError
from accelerate.tracking import MLflowTracker


def no_experiment(name: str) -> None:
    """Find no experiment, whatever its name."""


class TestMLflow:
    """The stand-in for MLflow has its two limits and its experiments."""

    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[recorder.Call]:
        calls = recorder.install(monkeypatch, "mlflow", "mlflow.utils", "mlflow.utils.validation")
        monkeypatch.setattr("mlflow.utils.validation.MAX_PARAM_VAL_LENGTH", 10, raising=False)
        monkeypatch.setattr("mlflow.utils.validation.MAX_PARAMS_TAGS_PER_BATCH", 2, raising=False)
        monkeypatch.setattr("mlflow.get_experiment_by_name", no_experiment, raising=False)
        return calls

    def test_a_new_experiment(self, calls: list[recorder.Call]) -> None:
        tracker = MLflowTracker(
            "e", "folder", run_id="r", tags={"t": 1}, nested_run=True, run_name="n", description="d"
        )
        tracker.start()
        tracker.log({"loss": 1.5, "note": "x"}, step=3)
        tracker.log_figure("figure", "f.png")
        tracker.log_artifact("file", "below")
        tracker.log_artifacts("folder")
        tracker.finish()
        created, started, *others = calls
        assert created == (
            "mlflow.create_experiment",
            (),
            {"name": "e", "artifact_location": "folder", "tags": {"t": 1}},
        )
        options = dict(started[2])
        assert repr(options.pop("experiment_id")) == "<mlflow.create_experiment()>"
        assert options == {"run_id": "r", "run_name": "n", "nested": True, "tags": {"t": 1}, "description": "d"}
        assert others == [
            ("mlflow.log_metrics", ({"loss": 1.5},), {"step": 3}),
            ("mlflow.log_figure", (), {"figure": "figure", "artifact_file": "f.png"}),
            ("mlflow.log_artifact", (), {"local_path": "file", "artifact_path": "below"}),
            ("mlflow.log_artifacts", (), {"local_dir": "folder", "artifact_path": None}),
            ("mlflow.end_run", (), {}),
        ]

    def test_an_experiment_that_exists(self, calls: list[recorder.Call], monkeypatch: pytest.MonkeyPatch) -> None:
        found = recorder.Recorded("found", [])
        found.experiment_id = "7"
        monkeypatch.setattr("mlflow.get_experiment_by_name", {"e": found}.get)
        MLflowTracker("e").start()
        assert [call[0] for call in calls] == ["mlflow.start_run"]
        assert calls[0][2]["experiment_id"] == "7"

    def test_no_experiment(self, calls: list[recorder.Call]) -> None:
        MLflowTracker().start()
        assert calls[0][2]["experiment_id"] is None

    def test_settings_fit_the_limits(self, calls: list[recorder.Call], caplog: pytest.LogCaptureFixture) -> None:
        MLflowTracker("e").store_init_configuration({"a": 1, "b": {"c": 2, "d": "long" * 9}, "e": None})
        assert calls == [
            ("mlflow.log_params", ({"a": 1, "b/c": 2},), {}),
            ("mlflow.log_params", ({"e": None},), {}),
        ]
        assert "mlflow does not record 'b/d': its text is over 10." in caplog.text

    def test_variables_come_first(self, calls: list[recorder.Call], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "from env")
        monkeypatch.setenv("MLFLOW_RUN_ID", "env run")
        monkeypatch.setenv("MLFLOW_TAGS", '{"t": "env"}')
        monkeypatch.setenv("MLFLOW_NESTED_RUN", "1")
        MLflowTracker("e", run_id="r", tags={"t": 1}).start()
        assert calls[0][2]["name"] == "from env"
        assert calls[1][2]["run_id"] == "env run"
        assert calls[1][2]["tags"] == {"t": "env"}
        assert calls[1][2]["nested"] is True

    def test_tags_that_are_none(self) -> None:
        with pytest.raises(ConfigError, match="The MLflow tags are 'nonsense'"):
            MLflowTracker("e", tags="nonsense")
