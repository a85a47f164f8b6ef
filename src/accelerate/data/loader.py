"""The loaders that `prepare` returns: torch loaders that put batches on the device and tell where the loop is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch.utils.data import IterableDataset

from accelerate.data import parts
from accelerate.data.adapter import DataLoaderAdapter, DataLoaderStateMixin
from accelerate.data.position import Position, random_states, set_random_states
from accelerate.data.samplers import (
    BatchSamplerShard,
    IterableDatasetShard,
    SeedableRandomSampler,
    SkipBatchSampler,
    length_of,
)
from accelerate.distributed.nested import ignorant_find_batch_size
from accelerate.distributed.placement import send_to_device

_END: Any = object()


class DataLoaderShard(DataLoaderAdapter, DataLoaderStateMixin):
    """The loader of one process.

    Iterating looks one batch ahead, so that `end_of_dataloader` is true from the moment the last batch is out. It
    draws the random numbers that the inner loader draws, and no others.

    A checkpoint holds `state_dict()`. To go on within an epoch, load that and iterate `skip_first_batches(loader, n)`,
    where n is the number of batches seen in the epoch. The rest comes in the order that was interrupted, that of an
    ordinary random sampler too, and then random generators are where the checkpoint left them. `load_state_dict` alone
    skips nothing, so nothing is skipped twice: iterating the loader directly begins an epoch at its first batch, the
    next epoch when the saved one was at its last batch. Loaders with `use_stateful_dataloader` go on by themselves.

    Args:
        dataset: The dataset.
        device: Where batches are put; None leaves them where they are.
        rng_types: Which random generators are made equal in all processes when an epoch begins.
        synchronized_generator: The generator that the order of the samples comes from.
        skip_batches: Batches to leave out at the start of each epoch.
        use_stateful_dataloader: See `DataLoaderAdapter`.
        _drop_last: Whether the samples that do not fill a batch are dropped.
        _non_blocking: Whether copies to the device may overlap with computation, where the device allows that.
        torch_device_mesh: Not used by a loader that is already sharded.
        iteration: Number of the first epoch.
        **kwargs: Arguments of `DataLoaderAdapter`.
    """

    def __init__(
        self,
        dataset: Any,
        device: torch.device | str | int | None = None,
        rng_types: list[Any] | None = None,
        synchronized_generator: torch.Generator | None = None,
        skip_batches: int = 0,
        use_stateful_dataloader: bool = False,
        _drop_last: bool = False,
        _non_blocking: bool = False,
        torch_device_mesh: Any = None,
        iteration: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(dataset, use_stateful_dataloader=use_stateful_dataloader, **kwargs)
        self.device = None if device is None else torch.device(device)
        self.rng_types = rng_types
        self.synchronized_generator = synchronized_generator
        self.skip_batches = skip_batches
        self._drop_last = _drop_last
        self._non_blocking = _non_blocking
        self._position = Position(epoch=iteration)
        self._inner_state: dict[str, Any] | None = None

    @property
    def iteration(self) -> int:
        """Number of the epoch that is being iterated, or that comes next."""
        return self._position.epoch

    @iteration.setter
    def iteration(self, epoch: int) -> None:
        self._position.set_epoch(epoch)

    def set_epoch(self, epoch: int) -> None:
        """Make `epoch` the next one, here and in the dataset, sampler and batch sampler where they have `set_epoch`."""
        self._position.set_epoch(epoch)
        parts.set_epoch(self.base_dataloader, epoch)

    @property
    def total_batch_size(self) -> int:
        """Samples in a batch of all processes together; raises TypeError where batches have no common size."""
        for part in (parts.batch_source(self.base_dataloader), self.dataset):
            shard = part.batch_sampler if isinstance(part, SkipBatchSampler) else part
            if isinstance(shard, (BatchSamplerShard, IterableDatasetShard)) and shard.batch_size is not None:
                return shard.batch_size * (1 if shard.split_batches else shard.num_processes)
        size = getattr(parts.batch_source(self.base_dataloader), "batch_size", None)
        if size is None:
            raise TypeError(f"{type(self).__name__!r} object has no fixed batch size")
        return int(size)

    @property
    def total_dataset_length(self) -> int:
        """Samples in the dataset of all processes together; raises TypeError where that is not known."""
        return self.dataset.total_length if hasattr(self.dataset, "total_length") else length_of(self.dataset)

    def get_sampler(self) -> Any:
        """Return what decides the order of the samples; None for a batch sampler that has no sampler."""
        return parts.get_sampler(self.base_dataloader)

    def set_sampler(self, sampler: Any) -> None:
        """Take the order of the samples from `sampler`."""
        self.base_dataloader = parts.replace_sampler(self.base_dataloader, sampler)

    def __len__(self) -> int:
        return max(0, len(self.base_dataloader) - self.skip_batches)

    def __iter__(self) -> Iterator[Any]:
        position = self._position
        replay = position.begin(self._skipped, goes_on=self._stateful is not None)
        loop = position.loop
        self.set_epoch(position.epoch)
        self.begin()
        try:
            batches, pending = self._open(replay)
            position.finished = pending is _END
            while pending is not _END:
                batch = pending
                if self.device is not None:
                    batch = send_to_device(batch, self.device, non_blocking=self._non_blocking)
                pending = self._fetch(batches)
                if pending is _END:
                    self._at_last(batch)
                position.batches += 1
                yield batch
        finally:
            self.end()
            if position.finished and position.loop == loop:
                position.end()

    def begin(self) -> None:
        """Become the active loader."""
        super().begin()
        if not self._drop_last:
            with suppress(TypeError):
                self.remainder = self._epoch_length() % self.total_batch_size

    @property
    def _skipped(self) -> int:
        source = parts.batch_source(self.base_dataloader)
        return self.skip_batches + (source.skip_batches if isinstance(source, SkipBatchSampler) else 0)

    def _epoch_length(self) -> int:
        """Samples in an epoch of all processes together; raises TypeError where that is not known before the end."""
        if isinstance(self.dataset, IterableDatasetShard):
            return self.dataset.total_length
        return length_of(None if isinstance(self.dataset, IterableDataset) else self.get_sampler())

    def _open(self, replay: bool) -> tuple[Iterator[Any], Any]:
        """Begin an epoch; return the rest of its batches and the first one, or `_END`."""
        position, generators = self._position, [torch.default_generator, *self._own_generators()]
        before = random_states(generators)
        if replay and position.start is not None:
            set_random_states(position.start, generators)
            self._replay_fetch()
        else:
            position.start = before
        batches = iter(self.base_dataloader)
        for _ in range(self.skip_batches):
            next(batches, None)
        first = next(batches, _END)
        if replay:
            # The program goes on where the checkpoint left it. The loader's own generators have just got there.
            set_random_states(before, generators[:1])
        return batches, first

    def _replay_fetch(self) -> None:
        """Let the first batch be loaded with the random numbers that it was loaded with before the interruption."""
        fetch, source = self._position.fetch, parts.batch_source(self.base_dataloader)
        if (
            fetch is not None
            and self.num_workers == 0
            and isinstance(source, SkipBatchSampler)
            and not self.skip_batches
        ):
            source.on_first = lambda: torch.default_generator.set_state(fetch)

    def _fetch(self, batches: Iterator[Any]) -> Any:
        """Return the next batch, or `_END`, having noted what it takes to fetch it again."""
        inner = self._stateful
        self._position.fetch = torch.default_generator.get_state()
        if inner is not None:
            self._inner_state = inner.state_dict()
        batch = next(batches, _END)
        if batch is _END and inner is not None:
            self._inner_state = inner.state_dict()
        return batch

    def _at_last(self, batch: Any) -> None:
        self.end_of_dataloader = True
        self._position.finished = True
        if isinstance(self.dataset, IterableDataset) and not isinstance(self.dataset, IterableDatasetShard):
            size = ignorant_find_batch_size(batch)
            self.remainder = -1 if size is None else size

    def _own_generators(self) -> list[torch.Generator]:
        sampler = self.get_sampler()
        found = [self.base_dataloader.generator]
        if not isinstance(sampler, SeedableRandomSampler):  # That one seeds its generator anew for each epoch.
            found.append(getattr(sampler, "generator", None))
        return list({id(g): g for g in found if isinstance(g, torch.Generator)}.values())

    def state_dict(self) -> dict[str, Any]:
        """Return the position within the epochs, and what decides the order; see the class for how to use it."""
        state = self._position.state_dict()
        state["generators"] = [generator.get_state() for generator in self._own_generators()]
        sampler = self.get_sampler()
        if isinstance(sampler, SeedableRandomSampler):
            state["initial_seed"] = sampler.initial_seed
        if self._stateful is not None:
            state["inner"] = self._inner_state or self._stateful.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; the next loop goes on from there. In place."""
        self._position.load_state_dict(state)
        for generator, saved in zip(self._own_generators(), state["generators"], strict=False):
            generator.set_state(saved)
        sampler = self.get_sampler()
        if isinstance(sampler, SeedableRandomSampler) and "initial_seed" in state:
            sampler.initial_seed = state["initial_seed"]
            sampler.set_epoch(state["iteration"])
        if self._stateful is not None and "inner" in state:
            self._inner_state = state["inner"]
            self._stateful.load_state_dict(state["inner"])
