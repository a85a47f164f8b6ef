"""What one process does with regard to the others; the state objects and `Accelerator` inherit it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from accelerate import log
from accelerate.launch import environment
from accelerate.plugins.enums import DistributedType
from accelerate.runtime import Runtime, current

Function = TypeVar("Function", bound=Callable[..., Any])


class ProcessControl:
    """Where this process stands, and what only some processes do."""

    @property
    def runtime(self) -> Runtime:
        """The run that this process is part of."""
        return current()

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        return self.runtime.device

    @property
    def distributed_type(self) -> DistributedType:
        """How the processes of the run work together."""
        return self.runtime.strategy.distributed_type

    @property
    def num_processes(self) -> int:
        """Processes of the run, on all machines."""
        return self.runtime.topology.world

    @property
    def process_index(self) -> int:
        """This process's rank in the run."""
        return self.runtime.topology.rank

    @property
    def local_process_index(self) -> int:
        """This process's rank on its machine."""
        return self.runtime.topology.local_rank

    @property
    def use_distributed(self) -> bool:
        """Whether the run has more than one process."""
        return self.num_processes > 1

    @property
    def is_main_process(self) -> bool:
        """Whether this is the first process of the run."""
        return self.process_index == 0

    @property
    def is_local_main_process(self) -> bool:
        """Whether this is the first process of its machine."""
        return self.local_process_index == 0

    @property
    def is_last_process(self) -> bool:
        """Whether this is the last process of the run."""
        return self.process_index == self.num_processes - 1

    def wait_for_everyone(self) -> None:
        """Return when every process has called. Collective: all ranks."""
        self.runtime.collectives.barrier()

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print, on the first process of each machine only."""
        if self.is_local_main_process:
            print(*args, **kwargs)

    @contextmanager
    def main_process_first(self) -> Iterator[None]:
        """Let the first process of the run go through the block before the others. Collective: all ranks."""
        with self._first(self.is_main_process):
            yield

    @contextmanager
    def local_main_process_first(self) -> Iterator[None]:
        """Let the first process of each machine go through the block before the others. Collective: all ranks."""
        with self._first(self.is_local_main_process):
            yield

    @contextmanager
    def _first(self, goes_first: bool) -> Iterator[None]:
        if not goes_first:
            self.wait_for_everyone()
        try:
            yield
        finally:
            if goes_first:
                self.wait_for_everyone()

    @contextmanager
    def split_between_processes(self, inputs: Any, apply_padding: bool = False) -> Iterator[Any]:
        """Give each process its share of `inputs`: a list, tuple, tensor, dictionary of those, or dataset.

        In a run of one process that is all of it, and there is nothing that `apply_padding` could fill up.
        """
        del apply_padding
        yield inputs

    def on_main_process(self, function: Function | None = None) -> Any:
        """Decorate `function` so that only the first process of the run calls it; the others get None."""
        return _only(function, lambda: self.is_main_process)

    def on_local_main_process(self, function: Function | None = None) -> Any:
        """Decorate `function` so that only the first process of each machine calls it; the others get None."""
        return _only(function, lambda: self.is_local_main_process)

    def on_last_process(self, function: Function | None = None) -> Any:
        """Decorate `function` so that only the last process of the run calls it; the others get None."""
        return _only(function, lambda: self.is_last_process)

    def on_process(self, function: Function | None = None, process_index: int | None = None) -> Any:
        """Decorate `function` so that only the process of rank `process_index` calls it; None means all do."""
        return _only(function, lambda: process_index in (None, self.process_index))

    def on_local_process(self, function: Function | None = None, local_process_index: int | None = None) -> Any:
        """Decorate `function` so that only that process of each machine calls it; None means all do."""
        return _only(function, lambda: local_process_index in (None, self.local_process_index))


def _only(function: Callable[..., Any] | None, is_chosen: Callable[[], bool]) -> Any:
    if function is None:
        return functools.partial(_only, is_chosen=is_chosen)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if is_chosen() else None

    return call


def get_logger(name: str, log_level: str | None = None) -> log.MultiProcessAdapter:
    """Return a logger for `name` that takes `main_process_only` and `in_order`.

    It may be used before anything else of this package; this process then counts as the only one.

    Args:
        name: As for `logging.getLogger`.
        log_level: The least level that is shown, also where nobody configured logging; None takes the variable
            ACCELERATE_LOG_LEVEL, and leaves logging as it is when that is not set either.
    """
    logger = logging.getLogger(name)
    level = log_level or environment.get("ACCELERATE_LOG_LEVEL")
    if level:
        log.show(logger, level)
    return log.MultiProcessAdapter(logger, {})
