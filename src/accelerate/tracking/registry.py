"""Which trackers there are, which of them a run uses, and how the run speaks to all of them at once.

What `Accelerator` does with it:

    __init__:         self.log_with = filter_trackers(log_with, self.logging_dir);  self.trackers = []
    init_trackers:    registry.finish(self.trackers)
                      self.trackers = registry.start(self.log_with, project_name, config, init_kwargs,
                                                     logging_dir=self.logging_dir, main=self.is_main_process)
    log:              registry.log(self.trackers, values, step, log_kwargs)
    get_tracker:      registry.get(self.trackers, name, unwrap)
    end_training:     registry.finish(self.trackers)

Outside the main process `start` returns no tracker, so the other calls do nothing there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accelerate.errors import ConfigError
from accelerate.log import topic, warn_once
from accelerate.machine import packages
from accelerate.plugins.enums import LoggerType
from accelerate.tracking.aim import AimTracker
from accelerate.tracking.base import GeneralTracker
from accelerate.tracking.clearml import ClearMLTracker
from accelerate.tracking.comet import CometMLTracker
from accelerate.tracking.dvclive import DVCLiveTracker
from accelerate.tracking.mlflow import MLflowTracker
from accelerate.tracking.swanlab import SwanLabTracker
from accelerate.tracking.tensorboard import TensorBoardTracker
from accelerate.tracking.trackio import TrackioTracker
from accelerate.tracking.wandb import WandBTracker

Asked = str | LoggerType | GeneralTracker

LOGGER_TYPE_TO_CLASS: dict[str, type[GeneralTracker]] = {
    tracker.name: tracker
    for tracker in (
        AimTracker,
        CometMLTracker,
        MLflowTracker,
        TensorBoardTracker,
        WandBTracker,
        ClearMLTracker,
        DVCLiveTracker,
        SwanLabTracker,
        TrackioTracker,
    )
}
_OWN = dict(LOGGER_TYPE_TO_CLASS)
_MODULES = {"tensorboard": ("tensorboard", "tensorboardX")}


def register_tracker_class(tracker_class: type[GeneralTracker]) -> None:
    """Let `log_with` name a tracker class of the script's own by its `name`.

    Raises:
        ConfigError: It is no subclass of `GeneralTracker`, or has no name.
    """
    if not (isinstance(tracker_class, type) and issubclass(tracker_class, GeneralTracker)):
        raise ConfigError(f"The tracker class is {tracker_class!r}.", "It must be a subclass of GeneralTracker.")
    if not isinstance(getattr(tracker_class, "name", None), str):
        raise ConfigError(
            f"The tracker class {tracker_class.__name__} has no name.", "log_with asks for it by its name."
        )
    LOGGER_TYPE_TO_CLASS[tracker_class.name] = tracker_class


def get_available_trackers() -> list[LoggerType]:
    """Return the trackers of this package whose libraries are installed."""
    return [kind for kind in LoggerType if kind.value in _OWN and _installed(kind.value)]


def filter_trackers(
    log_with: Asked | Sequence[Asked] | None, logging_dir: str | os.PathLike[str] | None = None
) -> list[Asked]:
    """Return the trackers that a run uses, each once.

    Args:
        log_with: Names, members of `LoggerType`, trackers of the script's own, or several of them. `"all"` stands for
            each one that is installed.
        logging_dir: Folder for those that write files.

    Returns:
        Members of `LoggerType` for the trackers of this package, names for registered ones, and trackers as given.
        One that is asked for by name but not installed is left out, with a warning.

    Raises:
        ConfigError: Something else was asked for, or a tracker needs a `logging_dir`.
    """
    asked: Sequence[Asked] = (
        () if log_with is None else [log_with] if isinstance(log_with, (str, LoggerType, GeneralTracker)) else log_with
    )
    chosen: list[Asked] = []
    for item in asked:
        for tracker in _resolve(item, logging_dir):
            if tracker not in chosen:
                chosen.append(tracker)
    return chosen


def _resolve(item: object, logging_dir: str | os.PathLike[str] | None) -> list[Asked]:
    if isinstance(item, GeneralTracker):
        return [item]
    name = str(item) if isinstance(item, LoggerType) else item.lower() if isinstance(item, str) else ""
    if name == "all":
        return _all(logging_dir)
    if isinstance(item, str) and item in LOGGER_TYPE_TO_CLASS:
        name = item
    if name not in LOGGER_TYPE_TO_CLASS:
        raise ConfigError(
            f"log_with asks for {item!r}.",
            f"Allowed are all, {', '.join(LOGGER_TYPE_TO_CLASS)}, and trackers themselves.",
        )
    if name in _OWN and not _installed(name):
        warn_once(
            "tracking", f"log_with asks for {name}, but the package {name} is not installed: nothing is logged to it."
        )
        return []
    if LOGGER_TYPE_TO_CLASS[name].requires_logging_directory and logging_dir is None:
        raise ConfigError(
            f"log_with asks for {name}, which writes files, but there is no logging_dir.",
            fix="Pass Accelerator(project_dir=...) or ProjectConfiguration(logging_dir=...).",
        )
    return [LoggerType(name) if name in _OWN else name]


def _all(logging_dir: str | os.PathLike[str] | None) -> list[Asked]:
    found: list[Asked] = []
    for kind in get_available_trackers():
        if _OWN[kind.value].requires_logging_directory and logging_dir is None:
            warn_once("tracking", f"log_with='all' leaves out {kind}: it writes files, but there is no logging_dir.")
        else:
            found.append(kind)
    return found


def _installed(name: str) -> bool:
    return any(packages.installed(module) for module in _MODULES.get(name, (name,)))


def start(
    log_with: Iterable[Asked],
    project_name: str,
    config: Mapping[str, Any] | None = None,
    init_kwargs: Mapping[str, Any] | None = None,
    *,
    logging_dir: str | os.PathLike[str] | None = None,
    main: bool = True,
) -> list[GeneralTracker]:
    """Begin a run with each tracker, and record the settings.

    Args:
        log_with: What `filter_trackers` returned.
        project_name: Name of the run or project.
        config: Settings of the run; trackers get a copy.
        init_kwargs: Tracker name -> keywords for its constructor.
        logging_dir: Folder for those that write files.
        main: Whether this is the main process; others start none.

    Returns:
        The trackers that run.

    Raises:
        ConfigError: A tracker's library cannot be imported.
    """
    if not main:
        return []
    running: list[GeneralTracker] = []
    for item in log_with:
        tracker = item if isinstance(item, GeneralTracker) else _make(str(item), project_name, init_kwargs, logging_dir)
        tracker.start()
        running.append(tracker)
    if config is not None:
        for tracker in running:
            tracker.store_init_configuration(_copied(config))
    return running


def _make(
    name: str,
    project_name: str,
    init_kwargs: Mapping[str, Any] | None,
    logging_dir: str | os.PathLike[str] | None,
) -> GeneralTracker:
    tracker_class: Any = LOGGER_TYPE_TO_CLASS[name]
    keywords = (init_kwargs or {}).get(name) or {}
    if tracker_class.requires_logging_directory:
        return tracker_class(project_name, logging_dir, **keywords)
    return tracker_class(project_name, **keywords)


def _copied(value: Any) -> Any:
    """Return a copy of nested dicts and lists that a tracker may change; what they hold is not copied."""
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def log(
    trackers: Iterable[GeneralTracker],
    values: Mapping[str, Any],
    step: int | None = None,
    log_kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Record values with each tracker.

    Args:
        trackers: Those that run; where there are none, nothing is recorded.
        values: Name -> value.
        step: The step they belong to.
        log_kwargs: Tracker name -> keywords for its `log`.
    """
    for tracker in trackers:
        tracker.log(dict(values), step=step, **((log_kwargs or {}).get(tracker.name) or {}))


def get(trackers: Sequence[GeneralTracker], name: str, unwrap: bool = False) -> Any:
    """Return the running tracker `name`, or with `unwrap` the library's own object.

    Where no tracker runs, as outside the main process, it is a tracker that does nothing.

    Raises:
        ConfigError: Others run, but not that one.
    """
    if not trackers:
        return GeneralTracker(_blank=True)
    for tracker in trackers:
        if tracker.name == name:
            return getattr(tracker, "tracker") if unwrap else tracker  # noqa: B009 - the base class does not define it
    raise ConfigError(
        f"There is no tracker {name!r} in this run.",
        f"It has {', '.join(tracker.name for tracker in trackers)}.",
        "Name it in log_with, and install its package.",
    )


def finish(trackers: Iterable[GeneralTracker]) -> None:
    """End the runs of all trackers. The first error is raised after all have been asked to end."""
    failed: Exception | None = None
    for tracker in trackers:
        try:
            tracker.finish()
        except Exception as error:  # whatever its library raises
            topic("tracking").warning("The tracker %s could not end its run: %r", tracker.name, error)
            failed = failed or error
    if failed is not None:
        raise failed
