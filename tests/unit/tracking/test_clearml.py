"""ClearML: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.errors import ConfigError
from accelerate.tracking import ClearMLTracker, GeneralTracker

CONFIG = {"lr": 0.1, "model": {"layers": [1, 2]}}


def run(tracker: GeneralTracker, step: int | None = 3) -> None:
    tracker.start()
    tracker.store_init_configuration(CONFIG)
    tracker.log({"loss": 1.5}, step=step)
    tracker.finish()


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
