"""The loader that reads the data in one process and sends the others their part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from accelerate.data.loader import DataLoaderShard


class DataLoaderDispatcher(DataLoaderShard):
    """The loader of a process that reads all of the data. With one process nothing is left to send.

    Args:
        dataset: The dataset.
        split_batches: Whether a batch of the inner loader is what all processes share.
        skip_batches: Batches to leave out at the start of each epoch.
        use_stateful_dataloader: See `DataLoaderAdapter`.
        _drop_last: See `DataLoaderShard`.
        _non_blocking: See `DataLoaderShard`.
        slice_fn: How to take one process's part of a batch.
        torch_device_mesh: See `DataLoaderShard`.
        iteration: Number of the first epoch.
        device: Where batches are put; None leaves them where they are.
        **kwargs: Arguments of `DataLoaderAdapter`.
    """

    def __init__(
        self,
        dataset: Any,
        split_batches: bool = False,
        skip_batches: int = 0,
        use_stateful_dataloader: bool = False,
        _drop_last: bool = False,
        _non_blocking: bool = False,
        slice_fn: Callable[..., Any] | None = None,
        torch_device_mesh: Any = None,
        iteration: int = 0,
        *,
        device: torch.device | str | int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            dataset,
            device,
            skip_batches=skip_batches,
            use_stateful_dataloader=use_stateful_dataloader,
            _drop_last=_drop_last,
            _non_blocking=_non_blocking,
            torch_device_mesh=torch_device_mesh,
            iteration=iteration,
            **kwargs,
        )
        self.split_batches = split_batches
        self.slice_fn = slice_fn
