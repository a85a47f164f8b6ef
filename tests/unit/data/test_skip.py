from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler

from accelerate.data.loader import DataLoaderShard
from accelerate.data.prepare import prepare_data_loader
from accelerate.data.samplers import SkipBatchSampler
from accelerate.data.skip import SkipDataLoader, skip_first_batches
from accelerate.errors import ConfigError


class Recorded(Dataset[int]):
    """Remembers which samples were loaded."""

    def __init__(self) -> None:
        self.loaded: list[int] = []

    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> int:
        self.loaded.append(index)
        return index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(7))


class SizedStream(Stream):
    def __len__(self) -> int:
        return 7


class Halves(DataLoader[Any]):
    """Gives two batches for each one of its sampler."""

    def __iter__(self) -> Iterator[Any]:  # pyrefly: ignore[bad-override]
        for batch in super().__iter__():
            yield batch[:1]
            yield batch[1:]

    def __len__(self) -> int:
        return 2 * super().__len__()


def values(loader: Any) -> list[Any]:
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in loader]


def numbers(count: int) -> Any:
    """A dataset that is a tensor: torch takes it, its annotations do not."""
    return torch.arange(count)


LOADERS: dict[str, Any] = {
    "map": lambda: DataLoader(Recorded(), batch_size=2),
    "batch sampler": lambda: DataLoader(Recorded(), batch_sampler=[[0, 1], [2], [3, 4, 5]]),
    "no batches": lambda: DataLoader(Recorded(), batch_size=None),
    "single requests": lambda: DataLoader(
        numbers(7), batch_size=None, sampler=BatchSampler(SequentialSampler(range(7)), 2, False)
    ),
    "stream": lambda: DataLoader(SizedStream(), batch_size=2),
    "stream without batches": lambda: DataLoader(SizedStream(), batch_size=None),
    "subclass": lambda: Halves(Recorded(), batch_size=2),
    "workers": lambda: DataLoader(Recorded(), batch_size=2, num_workers=1, persistent_workers=True),
}


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("name", LOADERS)
class TestEveryKind:
    def make(self, name: str, prepared: bool) -> DataLoader[Any]:
        loader = LOADERS[name]()
        return prepare_data_loader(loader) if prepared else loader

    @pytest.mark.parametrize("count", [0, 1, 2, 50])
    def test_leaves_out_the_first(self, name: str, prepared: bool, count: int) -> None:
        loader = self.make(name, prepared)
        expected = values(loader)[count:]
        skipping = skip_first_batches(loader, count)
        assert values(skipping) == expected
        assert len(skipping) == len(expected)
        assert isinstance(skipping, DataLoader)
        assert isinstance(skipping, DataLoaderShard) is prepared

    def test_leaves_the_loader_alone(self, name: str, prepared: bool) -> None:
        loader = self.make(name, prepared)
        everything = values(loader)
        values(skip_first_batches(loader, 2))
        assert values(loader) == everything
        assert len(loader) == len(everything)

    def test_twice_adds_up(self, name: str, prepared: bool) -> None:
        loader = self.make(name, prepared)
        assert values(skip_first_batches(skip_first_batches(loader, 1), 1)) == values(loader)[2:]


@pytest.mark.parametrize("prepared", [False, True])
def test_samples_left_out_are_not_loaded(prepared: bool) -> None:
    dataset = Recorded()
    loader: DataLoader[Any] = DataLoader(dataset, batch_size=2)
    skipping = skip_first_batches(prepare_data_loader(loader) if prepared else loader, 2)
    assert isinstance(skipping.batch_sampler, SkipBatchSampler)
    values(skipping)
    assert dataset.loaded == [4, 5, 6]


def test_end_and_epoch_are_those_of_the_whole() -> None:
    loader = prepare_data_loader(DataLoader(Recorded(), batch_size=2))
    assert isinstance(loader, DataLoaderShard)
    skipping = skip_first_batches(loader, 2)
    assert isinstance(skipping, DataLoaderShard)
    assert [(skipping.end_of_dataloader, skipping.remainder) for _ in skipping] == [(False, 1), (True, 1)]
    assert skipping.iteration == loader.iteration == 1
    assert skipping.total_batch_size == 2


def test_the_next_epoch_has_another_order() -> None:
    def make() -> DataLoader[Any]:
        return prepare_data_loader(DataLoader(Recorded(), shuffle=True), use_seedable_sampler=True, data_seed=2)

    whole, resumed = make(), make()
    first, second = values(whole), values(whole)
    assert values(skip_first_batches(resumed, 3)) == first[3:]
    assert values(resumed) == second


def test_stream_without_length_has_none() -> None:
    with pytest.raises(TypeError):
        len(skip_first_batches(DataLoader(Stream()), 1))


def test_loader_of_the_old_name() -> None:
    loader = SkipDataLoader(Recorded(), skip_batches=1, batch_size=3)
    assert values(loader) == values(loader) == [[3, 4, 5], [6]]
    assert len(loader) == 2


def test_refuses_nonsense() -> None:
    with pytest.raises(ConfigError, match="num_batches=-1"):
        skip_first_batches(DataLoader(Recorded()), -1)
    with pytest.raises(ConfigError, match="object of type list"):
        skip_first_batches([1])  # pyrefly: ignore[bad-argument-type]
