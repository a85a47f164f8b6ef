"""Going on within an epoch: loaders that leave out their first batches."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from accelerate.data import parts
from accelerate.data.adapter import DataLoaderAdapter
from accelerate.data.loader import DataLoaderShard
from accelerate.data.samplers import SkipBatchSampler
from accelerate.errors import ConfigError


class SkipDataLoader(DataLoaderAdapter):
    """A loader that leaves out its first batches, which are loaded all the same.

    Args:
        dataset: The dataset.
        skip_batches: How many batches to leave out.
        use_stateful_dataloader: See `DataLoaderAdapter`.
        **kwargs: Arguments of `DataLoaderAdapter`.
    """

    def __init__(
        self, dataset: Any, skip_batches: int = 0, use_stateful_dataloader: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(dataset, use_stateful_dataloader=use_stateful_dataloader, **kwargs)
        self.skip_batches = skip_batches

    def __len__(self) -> int:
        return max(0, len(self.base_dataloader) - self.skip_batches)

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.base_dataloader), self.skip_batches, None)


def skip_first_batches(dataloader: DataLoader[Any], num_batches: int = 0) -> DataLoader[Any]:
    """Return a loader like `dataloader` that leaves out the first `num_batches` batches of each epoch.

    Where batches come from a batch sampler, the samples left out are not loaded. `dataloader` leaves nothing out. But a
    prepared one shares its count of epochs: after an epoch of the returned loader, it goes on with the next one.
    `DataLoaderShard` tells how this goes with checkpoints.

    Raises:
        ConfigError: `num_batches` is negative, or `dataloader` is no torch `DataLoader`.
    """
    parts.check_is_loader(dataloader, "skip_first_batches")
    if num_batches < 0:
        raise ConfigError(f"skip_first_batches got num_batches={num_batches}.", "It must be 0 or more.")
    if isinstance(dataloader, DataLoaderShard):
        view = copy.copy(dataloader)
        inner = _without_first(dataloader.base_dataloader, num_batches)
        if inner is None:
            view.skip_batches += num_batches
        else:
            view.base_dataloader = inner
        return view
    if isinstance(dataloader, SkipDataLoader):
        dataloader, num_batches = dataloader.base_dataloader, dataloader.skip_batches + num_batches
    inner = _without_first(dataloader, num_batches)
    if inner is None:
        return SkipDataLoader(dataloader.dataset, num_batches, base_dataloader=dataloader)
    return inner


def _without_first(loader: DataLoader[Any], count: int) -> DataLoader[Any] | None:
    """Return a copy of the loader whose batch sampler skips; None where its batches must be loaded to be left out."""
    name = parts.batches_from(loader)
    if name is None or isinstance(loader.dataset, IterableDataset) or parts.iterates_itself(loader):
        return None
    source = getattr(loader, name)
    if isinstance(source, SkipBatchSampler):
        source, count = source.batch_sampler, source.skip_batches + count
    return parts.replace(loader, **{name: SkipBatchSampler(source, count)})
