"""Logging that knows which process speaks.

The package's own messages go to loggers named `accelerate.<topic>`. `MultiProcessAdapter` is what user code gets from
`accelerate.logging.get_logger`. Nothing here needs a started runtime: until one attaches, this process is the only one.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Speaker:
    """Which process this is, as far as logging is concerned."""

    rank: int = 0
    local_rank: int = 0
    world: int = 1
    barrier: Callable[[], None] = lambda: None


_speaker = Speaker()


def attach(speaker: Speaker) -> None:
    """Tell every logger of this process which rank it speaks for; called when a runtime starts and when it ends."""
    global _speaker
    _speaker = speaker


def topic(name: str) -> logging.Logger:
    """Return the package's own logger for `name`, for instance `topic("devices")`."""
    return logging.getLogger(f"accelerate.{name}")


@functools.lru_cache(maxsize=1024)
def warn_once(topic_name: str, message: str) -> None:
    """Log `message` as a warning, the first time it is given in this process; local main processes only."""
    if _speaker.local_rank == 0:
        topic(topic_name).warning(message)


class _UntilConfigured(logging.StreamHandler[Any]):
    """Prints to stderr as long as the program has not configured logging itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.root.handlers:
            super().emit(record)


def show(logger: logging.Logger, level: str) -> None:
    """Make records of `level` and above from `logger` visible, also where nobody called `logging.basicConfig`."""
    logger.setLevel(level.upper())
    logger.root.setLevel(level.upper())
    if not any(isinstance(handler, _UntilConfigured) for handler in logger.handlers):
        handler = _UntilConfigured(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        logger.addHandler(handler)


class MultiProcessAdapter(logging.LoggerAdapter[logging.Logger]):
    """A logger for programs that may run as many processes.

    Each call takes two more keywords: `main_process_only` (default True) keeps the record of rank 0 alone;
    `in_order=True` lets the ranks speak one after the other, so all ranks must then make the call.
    """

    def log(
        self,
        level: int,
        msg: object,
        *args: object,
        main_process_only: bool = True,
        in_order: bool = False,
        **kwargs: Any,
    ) -> None:
        """Log `msg` on the processes that the two extra keywords select. Collective with `in_order=True`: all ranks."""
        kwargs.setdefault("stacklevel", 1)
        if in_order and not main_process_only:
            for rank in range(_speaker.world):
                if rank == _speaker.rank:
                    self._emit(level, msg, *args, **kwargs)
                _speaker.barrier()
        elif not main_process_only or _speaker.rank == 0:
            self._emit(level, msg, *args, **kwargs)

    def _emit(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if self.isEnabledFor(level):
            kwargs["stacklevel"] += 2
            self.logger.log(level, msg, *args, **kwargs)

    @functools.lru_cache(None)  # noqa: B019 - loggers live as long as the process
    def warning_once(self, *args: Any, **kwargs: Any) -> None:
        """Log a warning, the first time it is given with these arguments."""
        self.warning(*args, **kwargs)
