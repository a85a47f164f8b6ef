"""What decides which samples come when: samplers, and those that skip or share out the batches of another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

import torch
from torch.utils.data import BatchSampler, IterableDataset, RandomSampler

from accelerate.data import shards
from accelerate.errors import ConfigError


class SeedableRandomSampler(RandomSampler):
    """A random sampler whose order depends on its seed and the epoch alone, and so can be had again.

    The order is that of torch's `RandomSampler` with a generator seeded with `initial_seed + epoch`. The epoch moves on
    each time the sampler has been walked through; `set_epoch` sets it.

    Args:
        data_source: The dataset; only its length is used.
        replacement: Whether a sample may come several times.
        num_samples: Samples per epoch; None means as many as the dataset has.
        generator: Generator to seed and draw from; None means one of its own.
        data_seed: The seed; None takes over that of torch's generator.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
        *,
        data_seed: int | None = None,
    ) -> None:
        super().__init__(data_source, replacement, num_samples, generator)
        self.initial_seed: int = torch.initial_seed() if data_seed is None else data_seed
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        if self.generator is None:
            self.generator = torch.Generator()
        self.generator.manual_seed(self.initial_seed + self.epoch)
        yield from super().__iter__()
        self.set_epoch(self.epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Make the next walk that of `epoch`."""
        self.epoch = epoch


class BatchSamplerShard(BatchSampler):
    """The part of a batch sampler's batches that belongs to one process.

    Args:
        batch_sampler: Any iterable of batches of indices. It needs no length; its attributes `batch_size` and
            `drop_last` are used where it has them.
        num_processes: Processes that share the batches. All of them must see the same ones.
        process_index: Number of this process.
        split_batches: Cut each batch among the processes, instead of giving whole batches in turn.
        even_batches: Repeat samples from the start until all processes have the same number of full batches.

    Raises:
        ConfigError: `split_batches` is set and the batch size is no multiple of `num_processes`.
    """

    def __init__(
        self,
        batch_sampler: Iterable[Sequence[int]],
        num_processes: int = 1,
        process_index: int = 0,
        split_batches: bool = False,
        even_batches: bool = True,
    ) -> None:
        self.batch_sampler = batch_sampler
        self.num_processes = num_processes
        self.process_index = process_index
        self.split_batches = split_batches
        self.even_batches = even_batches
        self.batch_size: Any = getattr(batch_sampler, "batch_size", None)  # None: sizes may differ.
        self.drop_last = bool(getattr(batch_sampler, "drop_last", False))
        if split_batches:
            check_divisible(self.batch_size, num_processes)

    @property
    def total_length(self) -> int:
        """Batches of all processes together."""
        return length_of(self.batch_sampler)

    def __len__(self) -> int:
        how = {"drop_last": self.drop_last, "even": self.even_batches}
        if not self.split_batches:
            return shards.count_dealt(self.total_length, self.num_processes, self.process_index, **how)
        last = self.batch_size
        sampler = getattr(self.batch_sampler, "sampler", None)
        if isinstance(sampler, Sized) and not self.drop_last:
            last = len(sampler) % self.batch_size or self.batch_size
        return shards.count_cut(
            self.total_length,
            self.num_processes,
            self.process_index,
            batch_size=self.batch_size,
            last=last,
            **how,
        )

    def __iter__(self) -> Iterator[list[int]]:
        part = shards.cut_batches if self.split_batches else shards.deal_batches
        return part(
            self.batch_sampler,
            self.num_processes,
            self.process_index,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            even=self.even_batches,
        )


class SkipBatchSampler(BatchSampler):
    """A batch sampler without its first batches. Their indices are drawn, but no sample is loaded for them.

    `on_first`, when set, is called once: when the indices left out are drawn, and before the first sample is loaded.
    """

    def __init__(self, batch_sampler: Iterable[Sequence[int]], skip_batches: int = 0) -> None:
        self.batch_sampler = batch_sampler
        self.skip_batches = skip_batches
        self.on_first: Callable[[], object] | None = None

    def __getattr__(self, name: str) -> Any:
        # `sampler`, `batch_size`, `drop_last` and what else the inner one has.
        if name.startswith("__") or name == "batch_sampler":
            raise AttributeError(name)
        return getattr(self.batch_sampler, name)

    @property
    def total_length(self) -> int:
        """Batches of the inner batch sampler."""
        return length_of(self.batch_sampler)

    def __len__(self) -> int:
        return max(0, self.total_length - self.skip_batches)

    def __iter__(self) -> Iterator[Any]:
        for index, batch in enumerate(self.batch_sampler):
            if index < self.skip_batches:
                continue
            if self.on_first is not None:
                self.on_first()
                self.on_first = None
            yield batch


class IterableDatasetShard(IterableDataset[Any]):
    """The part of an iterable dataset that belongs to one process.

    All processes walk through the whole dataset and keep their own samples, so all must see the same order. When the
    dataset has an attribute `generator` and no `set_epoch`, the generator is seeded with the epoch for that.

    Args:
        dataset: The dataset, or any other iterable of samples.
        batch_size: Samples in a batch of one process, or of all processes together with `split_batches`.
        drop_last: Drop the end that does not fill a batch of every process, instead of filling it up from the start.
        num_processes: Processes that share the samples.
        process_index: Number of this process.
        split_batches: See `batch_size`.

    Raises:
        ConfigError: `split_batches` is set and the batch size is no multiple of `num_processes`.
    """

    def __init__(
        self,
        dataset: Iterable[Any],
        batch_size: int = 1,
        drop_last: bool = False,
        num_processes: int = 1,
        process_index: int = 0,
        split_batches: bool = False,
    ) -> None:
        if split_batches:
            check_divisible(batch_size, num_processes)
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_processes = num_processes
        self.process_index = process_index
        self.split_batches = split_batches
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Make the next walk that of `epoch`, here and in the dataset."""
        self.epoch = epoch
        set_epoch = getattr(self.dataset, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)

    @property
    def total_length(self) -> int:
        """Samples of all processes together."""
        return length_of(self.dataset)

    @property
    def _share(self) -> int:
        return self.batch_size // self.num_processes if self.split_batches else self.batch_size

    def __len__(self) -> int:
        return shards.count_samples(self.total_length, self.num_processes, share=self._share, drop_last=self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        generator = getattr(self.dataset, "generator", None)
        if isinstance(generator, torch.Generator) and not hasattr(self.dataset, "set_epoch"):
            generator.manual_seed(self.epoch)
        return shards.deal_samples(
            self.dataset, self.num_processes, self.process_index, share=self._share, drop_last=self.drop_last
        )


def length_of(source: object) -> int:
    """Return `len(source)`; raises TypeError, as `len` does, where there is none."""
    if isinstance(source, Sized):
        return len(source)
    raise TypeError(f"object of type '{type(source).__name__}' has no len()")


def check_divisible(batch_size: object, num_processes: int) -> None:
    """Raise ConfigError unless each of the processes can get the same part of a batch."""
    if not isinstance(batch_size, int) or batch_size % num_processes:
        raise ConfigError(
            f"The batch size is {batch_size}, and split_batches shares each batch among {num_processes} processes.",
            f"It must be a multiple of {num_processes}.",
            "Change the batch size, or leave split_batches out.",
        )
