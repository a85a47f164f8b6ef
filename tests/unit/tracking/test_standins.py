"""Trackers whose libraries are not installed for the tests: what they ask of stand-ins."""

from __future__ import annotations

from typing import Any

import pytest

import recorder
from accelerate.errors import ConfigError
from accelerate.tracking import (
    AimTracker,
    ClearMLTracker,
    CometMLTracker,
    DVCLiveTracker,
    GeneralTracker,
    MLflowTracker,
    SwanLabTracker,
    TrackioTracker,
    WandBTracker,
)

CONFIG = {"lr": 0.1, "model": {"layers": [1, 2]}}


def is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def no_experiment(name: str) -> None:
    """Find no experiment, whatever its name."""


def run(tracker: GeneralTracker, step: int | None = 3) -> None:
    tracker.start()
    tracker.store_init_configuration(CONFIG)
    tracker.log({"loss": 1.5}, step=step)
    tracker.finish()


@pytest.mark.parametrize(
    ("module", "tracker_class"), [("wandb", WandBTracker), ("trackio", TrackioTracker), ("swanlab", SwanLabTracker)]
)
def test_wandb_and_its_likes(monkeypatch: pytest.MonkeyPatch, module: str, tracker_class: Any) -> None:
    calls = recorder.install(monkeypatch, module)
    tracker = tracker_class("project", tags=["a"])
    run(tracker)
    assert calls == [
        (f"{module}.init", (), {"project": "project", "tags": ["a"]}),
        (f"{module}.config.update", (CONFIG,), {"allow_val_change": True}),
        (f"{module}.init().log", ({"loss": 1.5},), {"step": 3}),
        (f"{module}.init().finish", (), {}),
    ]
    assert repr(tracker.tracker) == f"<{module}.init()>"


@pytest.mark.parametrize(("module", "tracker_class"), [("wandb", WandBTracker), ("swanlab", SwanLabTracker)])
def test_images(monkeypatch: pytest.MonkeyPatch, module: str, tracker_class: Any) -> None:
    calls = recorder.install(monkeypatch, module)
    tracker = tracker_class("project")
    tracker.start()
    tracker.log_images({"pictures": ["x", "y"]}, step=4, commit=True)
    assert calls[1:3] == [(f"{module}.Image", ("x",), {}), (f"{module}.Image", ("y",), {})]
    name, args, kwargs = calls[3]
    assert (name, kwargs) == (f"{module}.init().log", {"step": 4, "commit": True})
    assert repr(args[0]) == str({"pictures": [f"<{module}.Image()>"] * 2}).replace("'<", "<").replace(">'", ">")


def test_wandb_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "wandb")
    tracker = WandBTracker("project")
    tracker.start()
    tracker.log_table("table", ["c"], [[1]], step=5)
    assert calls[1] == ("wandb.Table", (), {"columns": ["c"], "data": [[1]], "dataframe": None})
    assert calls[2][0] == "wandb.init().log"
    assert calls[2][2] == {"step": 5}


def test_comet(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "comet_ml")
    tracker = CometMLTracker("project", workspace="w")
    tracker.start()
    tracker.store_init_configuration(CONFIG)
    tracker.log({"loss": 1.5, "note": "x", "group": {"a": 1}, "list": [1]}, step=3, epoch=1)
    tracker.log({"loss": 2})
    tracker.finish()
    assert calls == [
        ("comet_ml.start", (), {"project_name": "project", "workspace": "w"}),
        ("comet_ml.start().log_parameters", (CONFIG,), {}),
        ("comet_ml.start().set_step", (3,), {}),
        ("comet_ml.start().log_metric", ("loss", 1.5), {"step": 3, "epoch": 1}),
        ("comet_ml.start().log_other", ("note", "x"), {"epoch": 1}),
        ("comet_ml.start().log_metrics", ({"a": 1},), {"step": 3, "epoch": 1}),
        ("comet_ml.start().log_metric", ("loss", 2), {"step": None}),
        ("comet_ml.start().end", (), {}),
    ]


def test_aim(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "aim")
    tracker = AimTracker("name", "folder", capture_terminal_logs=False)
    run(tracker)
    tracker.log_images({"a": "x", "b": ("y", "text")}, step=4, kwargs={"aim_image": {"q": 1}, "track": {"z": 2}})
    assert calls[:5] == [
        ("aim.Run", (), {"repo": "folder", "capture_terminal_logs": False}),
        ("aim.Run().name =", "name"),
        ("aim.Run()[hparams] =", CONFIG),
        ("aim.Run().track", (1.5,), {"name": "loss", "step": 3}),
        ("aim.Run().close", (), {}),
    ]
    assert calls[5] == ("aim.Image", ("x",), {"caption": "", "q": 1})
    assert calls[6][2] == {"name": "a", "step": 4, "z": 2}
    assert calls[7] == ("aim.Image", ("y",), {"caption": "text", "q": 1})


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


class TestClearML:
    """A task may be running before the tracker starts."""

    def test_a_task_that_runs_is_taken_and_left_running(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "clearml")
        run(ClearMLTracker("project"))
        assert [call[0].removeprefix("clearml.Task.current_task") for call in calls] == [
            "",
            "().connect_configuration",
            "().get_logger",
            "().get_logger().report_scalar",
        ]

    def test_a_new_task_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "clearml")
        monkeypatch.setattr("clearml.Task.current_task", lambda: None)
        calls.clear()
        run(ClearMLTracker("project", tags=["a"]), step=None)
        names = {"project_name": "project", "task_name": "project"}
        assert calls[0] == ("clearml.Task.init", (), {**names, "tags": ["a"]})
        assert calls[-2:] == [
            ("clearml.Task.init().get_logger().report_single_value", (), {"name": "loss", "value": 1.5}),
            ("clearml.Task.init().close", (), {}),
        ]
        monkeypatch.setenv("CLEARML_PROJECT", "env project")
        ClearMLTracker("project", task_name="given").start()
        assert calls[-1] == ("clearml.Task.init", (), {"project_name": "env project", "task_name": "given"})

    def test_the_prefix_chooses_the_series(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "clearml")
        tracker = ClearMLTracker("project")
        tracker.start()
        tracker.log({"eval_a": 1, "test_b": 2, "train_c": 3, "evaluation": 4, "note": "x"}, step=1, extra=5)
        scalars = [call[2] for call in calls if call[0].endswith("report_scalar")]
        assert [(call["title"], call["series"], call["value"]) for call in scalars] == [
            ("a", "eval", 1),
            ("b", "test", 2),
            ("c", "train", 3),
            ("evaluation", "train", 4),
        ]
        assert all(call["iteration"] == 1 and call["extra"] == 5 for call in scalars)

    def test_images_and_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "clearml")
        tracker = ClearMLTracker("project")
        tracker.start()
        tracker.log_images({"eval_x": "picture"}, step=4)
        tracker.log_table("t", ["c"], [[1], [2]], step=5)
        tracker.log_table("t", dataframe="frame")
        found = [call[2] for call in calls if "report_" in call[0]]
        assert found == [
            {"title": "x", "series": "eval", "iteration": 4, "image": "picture"},
            {"title": "t", "series": "train", "table_plot": [["c"], [1], [2]], "iteration": 5},
            {"title": "t", "series": "train", "table_plot": "frame", "iteration": None},
        ]
        with pytest.raises(ConfigError, match="neither data nor dataframe"):
            tracker.log_table("t", ["c"])


class TestDVCLive:
    """DVCLive counts its own steps."""

    def test_metrics(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "dvclive", "dvclive.plots")
        monkeypatch.setattr("dvclive.plots.Metric.could_log", is_number)
        calls.clear()
        tracker = DVCLiveTracker("unused", dir="folder")
        tracker.start()
        tracker.store_init_configuration(CONFIG)
        tracker.log({"loss": 1.5, "note": "x"}, step=0, plot=False)
        tracker.log({"loss": 2.5})
        tracker.finish()
        assert calls == [
            ("dvclive.Live", (), {"dir": "folder"}),
            ("dvclive.Live().log_params", (CONFIG,), {}),
            ("dvclive.Live().step =", 0),
            ("dvclive.Live().log_metric", ("loss", 1.5), {"plot": False}),
            ("dvclive.Live().next_step", (), {}),
            ("dvclive.Live().log_metric", ("loss", 2.5), {}),
            ("dvclive.Live().next_step", (), {}),
            ("dvclive.Live().end", (), {}),
        ]

    def test_a_live_of_the_script(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "dvclive")
        live = object()
        tracker = DVCLiveTracker(live=live)
        tracker.start()
        assert tracker.tracker is live
        assert calls == []
