"""What a tracker is, and what the trackers share."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, TypeVar

from accelerate import topology
from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.log import warn_once

_Self = TypeVar("_Self")
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def on_main_process(
    function: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result | None]:
    """Make a tracker's method do nothing, and return None, outside the first process of the run.

    Where the tracker's `main_process_only` is False, it runs in every process.
    """

    @functools.wraps(function)
    def guarded(self: _Self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result | None:
        if getattr(self, "main_process_only", True) and not topology.detect(environment.variables).main:
            return None
        return function(self, *args, **kwargs)

    return guarded


class GeneralTracker:
    """Base of all trackers, those of a script's own too.

    A tracker has the class attributes `name` (unique) and `requires_logging_directory`, a property `tracker` that
    gives the library's own object, and whichever of the methods here it needs. Its constructor takes the name of the
    run, then the logging folder when it requires one, then keywords of its own.

    Args:
        _blank: Make one that does nothing; processes that do not log get it.

    Raises:
        NotImplementedError: An attribute is missing.
    """

    name: str
    requires_logging_directory: bool
    main_process_only: bool = True

    def __init__(self, _blank: bool = False) -> None:
        required = () if _blank else ("name", "requires_logging_directory", "tracker")
        missing = [name for name in required if not hasattr(type(self), name) and name not in vars(self)]
        if missing:
            raise NotImplementedError(
                f"The tracker {type(self).__name__} lacks {', '.join(missing)}. A tracker defines name, "
                "requires_logging_directory and tracker. Add them to the class."
            )

    def start(self) -> None:
        """Begin the run."""

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings of the run.

        Args:
            values: Name -> value; values may be nested.
        """

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values that change during the run.

        Args:
            values: Name -> value.
            step: The step they belong to; None lets the library count.
            kwargs: Passed on to the library.
        """

    def finish(self) -> None:
        """End the run and write what is left."""


def library(module: str, package: str | None = None) -> ModuleType:
    """Import a tracker's library.

    Raises:
        ConfigError: It cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module
        raise ConfigError(
            f"The tracker needs the package {name}, which cannot be imported ({error}).",
            fix=f"Install it with `pip install {name}`, or take another log_with.",
        ) from error


def number(value: object) -> int | float | None:
    """Return a number, or the one number in a tensor or numpy value, as a Python number; None for anything else."""
    if isinstance(value, (int, float)):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        single = value.item()
        return single if isinstance(single, (int, float)) else None
    return None


def skipped(tracker: GeneralTracker, name: str, value: object) -> None:
    """Warn, once for each name, that a value cannot be recorded."""
    warn_once("tracking", f"{tracker.name} does not record {name!r}: it takes numbers, not {type(value).__name__}.")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested mappings under names joined by `/`."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def plain(value: object) -> Any:
    """Return a copy made of dicts, lists, numbers, texts and None; other objects become texts."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    single = number(value)
    if single is not None:
        return single
    return value if value is None or type(value) is str else str(value)
