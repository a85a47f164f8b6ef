from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recorder
from accelerate.errors import ConfigError
from accelerate.log import warn_once
from accelerate.machine import packages
from accelerate.plugins.enums import LoggerType
from accelerate.tracking import (
    LOGGER_TYPE_TO_CLASS,
    GeneralTracker,
    filter_trackers,
    get_available_trackers,
    register_tracker_class,
    registry,
)


class Mine(GeneralTracker):
    """A tracker of a script's own."""

    name = "mine"
    requires_logging_directory = False

    def __init__(self, run_name: str = "", **kwargs: Any) -> None:
        super().__init__()
        self.calls: list[Any] = [("init", run_name, kwargs)]

    @property
    def tracker(self) -> list[Any]:
        """What happened."""
        return self.calls

    def start(self) -> None:
        """Note it."""
        self.calls.append("start")

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Note it, then change what was given."""
        self.calls.append(repr(values))
        values["more"] = True
        values["a"]["b"].append(3)

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Note it, then change what was given."""
        self.calls.append(("log", dict(values), step, kwargs))
        values.clear()

    def finish(self) -> None:
        """Note it."""
        self.calls.append("finish")


class Broken(Mine):
    """One whose library fails at the end."""

    name = "broken"

    def finish(self) -> None:
        """Fail."""
        raise OSError("no network")


@pytest.fixture
def _fresh() -> Iterator[None]:
    """Forget what is installed, which names are registered and what was warned of."""
    before = dict(LOGGER_TYPE_TO_CLASS)
    packages.installed.cache_clear()
    warn_once.cache_clear()
    yield
    packages.installed.cache_clear()
    warn_once.cache_clear()
    LOGGER_TYPE_TO_CLASS.clear()
    LOGGER_TYPE_TO_CLASS.update(before)


pytestmark = pytest.mark.usefixtures("_fresh")


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install an empty package named wandb."""
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    "asked", ["tensorboard", "TensorBoard", LoggerType.TENSORBOARD, ["tensorboard", "tensorboard"]]
)
def test_a_tracker_is_asked_for_in_many_ways(tmp_path: Path, asked: Any) -> None:
    assert filter_trackers(asked, tmp_path) == [LoggerType.TENSORBOARD]


def test_nothing_is_asked_for() -> None:
    assert filter_trackers(None) == []
    assert filter_trackers([]) == []


def test_trackers_themselves_stay_as_they_are() -> None:
    mine = Mine()
    assert filter_trackers(mine) == [mine]
    assert filter_trackers([mine, mine]) == [mine]


@pytest.mark.usefixtures("wandb")
def test_all_means_what_is_installed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert get_available_trackers() == [LoggerType.TENSORBOARD, LoggerType.WANDB]
    mine = Mine()
    assert filter_trackers(["all", mine], tmp_path) == [LoggerType.TENSORBOARD, LoggerType.WANDB, mine]
    with caplog.at_level(logging.WARNING):
        assert filter_trackers(LoggerType.ALL) == [LoggerType.WANDB]
    assert "log_with='all' leaves out tensorboard" in caplog.text


def test_a_package_that_is_not_installed_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert filter_trackers(["comet_ml"]) == []
    assert "the package comet_ml is not installed: nothing is logged to it" in caplog.text


@pytest.mark.parametrize("asked", ["nonsense", ["tensorboard", 3], [None], [Mine]])
def test_anything_else_is_refused(tmp_path: Path, asked: Any) -> None:
    with pytest.raises(ConfigError, match=r"log_with asks for .* Allowed are all, aim, comet_ml"):
        filter_trackers(asked, tmp_path)


def test_a_tracker_that_writes_files_needs_a_folder() -> None:
    with pytest.raises(ConfigError, match=r"tensorboard, which writes files, but there is no logging_dir.*project_dir"):
        filter_trackers("tensorboard")


def test_a_class_can_be_registered() -> None:
    register_tracker_class(Mine)
    assert filter_trackers("mine") == ["mine"]
    (tracker,) = registry.start(["mine"], "project", None, {"mine": {"x": 1}})
    assert registry.get([tracker], "mine", unwrap=True) == [("init", "project", {"x": 1}), "start"]
    with pytest.raises(ConfigError, match="must be a subclass of GeneralTracker"):
        register_tracker_class(int)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="GeneralTracker has no name"):
        register_tracker_class(GeneralTracker)


def test_a_run_speaks_to_each_tracker_and_changes_nothing_of_the_users() -> None:
    mine = Mine()
    config, values = {"a": {"b": [1, 2]}}, {"x": 1}
    trackers = registry.start([mine], "project", config)
    registry.log(trackers, values, step=3, log_kwargs={"mine": {"commit": True}, "other": {"y": 1}})
    registry.log(trackers, values)
    registry.finish(trackers)
    assert mine.calls[1:] == [
        "start",
        "{'a': {'b': [1, 2]}}",
        ("log", {"x": 1}, 3, {"commit": True}),
        ("log", {"x": 1}, None, {}),
        "finish",
    ]
    assert config == {"a": {"b": [1, 2]}}
    assert values == {"x": 1}


def test_arguments_that_are_none_are_fine() -> None:
    mine = Mine()
    trackers = registry.start([mine], "project", None, None)
    registry.log(trackers, {"x": 1}, step=None, log_kwargs=None)
    registry.log(trackers, {"x": 1}, log_kwargs={"mine": None})
    registry.start([mine], "project", {"a": {"b": []}}, {"mine": None})
    assert mine.calls[1] == "start"


def test_nothing_happens_before_the_start_and_in_other_processes() -> None:
    assert registry.start([Mine()], "project", {"a": 1}, main=False) == []
    registry.log([], {"x": 1})
    registry.finish([])
    blank = registry.get([], "mine")
    blank.log({"x": 1})
    assert type(blank) is GeneralTracker


def test_a_running_tracker_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder.install(monkeypatch, "wandb")
    mine = Mine()
    trackers = registry.start([mine, LoggerType.WANDB], "project", logging_dir=tmp_path)
    assert registry.get(trackers, "mine") is mine
    assert repr(registry.get(trackers, "wandb", unwrap=True)) == "<wandb.init()>"
    with pytest.raises(ConfigError, match=r"no tracker 'aim' in this run\. It has mine, wandb"):
        registry.get(trackers, "aim")


def test_a_tracker_that_writes_files_gets_the_folder(tmp_path: Path) -> None:
    trackers = registry.start([LoggerType.TENSORBOARD], "project", {"lr": 1}, logging_dir=tmp_path)
    registry.log(trackers, {"loss": 1.0}, step=1)
    registry.finish(trackers)
    assert list((tmp_path / "project").glob("events*"))


def test_all_trackers_end_when_one_fails(caplog: pytest.LogCaptureFixture) -> None:
    mine = Mine()
    with caplog.at_level(logging.WARNING), pytest.raises(OSError, match="no network"):
        registry.finish([Broken(), mine])
    assert mine.calls[-1] == "finish"
    assert "The tracker broken could not end its run" in caplog.text
