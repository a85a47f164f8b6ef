from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, Sampler, SequentialSampler

from accelerate.data.loader import DataLoaderShard
from accelerate.data.prepare import prepare_data_loader
from accelerate.data.skip import skip_first_batches
from accelerate.training.accumulation import GradientState


class Stream(IterableDataset[int]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))


class Noisy(Dataset[torch.Tensor]):
    """Draws from torch's generator for each sample, as augmentations do."""

    def __len__(self) -> int:
        return 11

    def __getitem__(self, index: int) -> torch.Tensor:
        return index + torch.rand(())


def numbers(count: int) -> Any:
    """A dataset that is a tensor: torch takes it, its annotations do not."""
    return torch.arange(count)


def _as_it_is(batch: Any) -> Any:
    return batch


def prepared(dataset: Any, **options: Any) -> DataLoaderShard:
    loader = prepare_data_loader(DataLoader(dataset, **options))
    assert isinstance(loader, DataLoaderShard)
    return loader


def values(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


class TestWhereTheLoopIs:
    def flags(self, loader: DataLoaderShard) -> list[tuple[bool, int]]:
        state = GradientState()
        return [(state.end_of_dataloader, state.remainder) for _ in loader]

    @pytest.mark.parametrize(
        ("count", "drop_last", "expected"),
        [
            (10, False, [(False, 2), (False, 2), (True, 2)]),
            (8, False, [(False, 0), (True, 0)]),
            (10, True, [(False, -1), (True, -1)]),
            (1, False, [(True, 1)]),
            (0, False, []),
        ],
    )
    def test_end_and_remainder(self, count: int, drop_last: bool, expected: list[tuple[bool, int]]) -> None:
        loader = prepared(numbers(count), batch_size=4, drop_last=drop_last)
        assert self.flags(loader) == self.flags(loader) == expected

    def test_remainder_of_a_stream_is_known_at_its_end(self) -> None:
        assert self.flags(prepared(Stream(6), batch_size=4)) == [(False, -1), (True, 2)]

    def test_remainder_counts_the_samples_of_the_sampler(self) -> None:
        sampler = torch.utils.data.SubsetRandomSampler(range(5))
        assert self.flags(prepared(range(100), batch_size=2, sampler=sampler))[-1] == (True, 1)

    @pytest.mark.parametrize("options", [{"batch_size": None}, {"batch_sampler": [[0, 1], [2]]}])
    def test_remainder_is_unknown_without_common_batch_size(self, options: dict[str, Any]) -> None:
        loader = prepared(numbers(3), **options)
        assert self.flags(loader)[-1] == (True, -1)
        with pytest.raises(TypeError, match="no fixed batch size"):
            _ = loader.total_batch_size

    def test_active_only_while_iterated(self) -> None:
        state, loader = GradientState(), prepared(range(3))
        for _ in loader:
            assert state.active_dataloader is loader
        assert not state.in_dataloader
        assert loader.end_of_dataloader

    def test_leaves_when_the_loop_is_left(self) -> None:
        state, loader = GradientState(), prepared(range(3))
        for _ in loader:
            break
        assert not state.in_dataloader
        with pytest.raises(KeyError):  # noqa: PT012
            for _ in loader:
                raise KeyError
        assert not state.in_dataloader
        assert loader.iteration == 0

    def test_loops_nest(self) -> None:
        state, outer, inner = GradientState(), prepared(range(2)), prepared(range(3), batch_size=2)
        for index, _ in enumerate(outer):
            for _ in inner:
                assert state.active_dataloader is inner
                break
            assert state.active_dataloader is outer
            assert state.end_of_dataloader is (index == 1)

    def test_an_error_in_the_dataset_comes_through(self) -> None:
        class Broken(Dataset[int]):
            def __len__(self) -> int:
                return 2

            def __getitem__(self, index: int) -> int:
                raise OSError("cannot read")

        with pytest.raises(OSError, match="cannot read"):
            list(prepared(Broken()))
        assert not GradientState().in_dataloader

    def test_reads_one_batch_ahead(self) -> None:
        class Counted(Stream):
            read = 0

            def __iter__(self) -> Iterator[int]:
                for sample in super().__iter__():
                    self.read += 1
                    yield sample

        dataset = Counted(9)
        assert [dataset.read for _ in prepared(dataset)] == [2, 3, 4, 5, 6, 7, 8, 9, 9]


class TestEpochs:
    def test_counts_epochs(self) -> None:
        loader = prepared(range(3))
        for epoch in range(3):
            assert [loader.iteration for _ in loader] == [epoch] * 3
        loader.iteration = 7
        list(loader)
        assert loader.iteration == 8

    def test_an_epoch_is_over_when_its_last_batch_is_out(self) -> None:
        # As in loops that call next() as often as there are batches, and never once more.
        loader = prepared(range(3))
        for _ in range(2):
            batches = iter(loader)
            for _ in range(len(loader)):
                next(batches)
        del batches
        assert loader.iteration == 2

    def test_iterators_that_linger_do_no_harm(self) -> None:
        loader = prepared(range(3))
        first = iter(loader)
        assert [int(next(first)) for _ in range(3)] == [0, 1, 2]
        second = iter(loader)
        next(second)
        assert loader.iteration == 1
        first.close()  # pyrefly: ignore[missing-attribute]
        assert loader.iteration == 1
        assert loader.state_dict()["batches"] == 1
        list(second)
        assert loader.iteration == 2

    def test_reaches_all_parts_that_have_epochs(self) -> None:
        class Parts(Sampler[int]):
            def __init__(self) -> None:
                self.epochs: list[int] = []

            def __len__(self) -> int:
                return 4

            def __iter__(self) -> Iterator[int]:
                return iter(range(4))

            def __getitem__(self, index: int) -> int:
                return index

            def set_epoch(self, epoch: int) -> None:
                self.epochs.append(epoch)

        class Batches(Parts):
            def __iter__(self) -> Iterator[Any]:
                return iter([[0, 1], [2, 3]])

        dataset, sampler, batches = Parts(), Parts(), Batches()
        for loader in (prepared(dataset, sampler=sampler), prepared(dataset, batch_sampler=batches)):
            list(loader)
            list(skip_first_batches(loader, 1))
            loader.set_epoch(5)
            list(loader)
        assert sampler.epochs == batches.epochs == [0, 1, 5, 5]
        assert dataset.epochs == [0, 1, 5, 5] * 2


class TestRandomNumbers:
    @pytest.mark.parametrize(
        "options", [{}, {"shuffle": True}, {"shuffle": True, "batch_size": None}, {"shuffle": True, "num_workers": 1}]
    )
    def test_draws_what_the_inner_loader_draws(self, options: dict[str, Any]) -> None:
        def run(loader: DataLoader[Any]) -> list[Any]:
            torch.manual_seed(0)
            return [(batch.tolist(), torch.rand(1).item()) for _ in range(2) for batch in loader]

        plain = DataLoader(numbers(6), **options)
        assert run(prepare_data_loader(DataLoader(numbers(6), **options))) == run(plain)


class TestDevice:
    def test_puts_batches_on_the_device(self) -> None:
        loader = DataLoaderShard([{"x": 1.0}, {"x": 2.0}], "meta", batch_size=2)
        assert loader.device == torch.device("meta")
        assert [batch["x"].device.type for batch in loader] == ["meta"]

    def test_takes_batches_of_any_kind(self) -> None:
        samples: list[Any] = ["a", {"x": []}, (1, None), {}]
        loader = DataLoaderShard(samples, "cpu", batch_size=None, collate_fn=_as_it_is)
        assert list(loader) == samples


class TestAttributes:
    def test_are_those_of_the_inner_loader(self) -> None:
        inner = DataLoader(
            numbers(10), batch_size=4, drop_last=True, timeout=3, num_workers=1, multiprocessing_context="fork"
        )
        inner.note = "mine"
        loader = prepare_data_loader(inner)
        assert isinstance(loader, DataLoader)
        for name in (
            "dataset",
            "batch_size",
            "drop_last",
            "sampler",
            "batch_sampler",
            "timeout",
            "num_workers",
            "note",
        ):
            assert getattr(loader, name) is getattr(inner, name)
        assert loader.multiprocessing_context is inner.multiprocessing_context
        assert len(loader) == 2
        with pytest.raises(AttributeError, match="nothing"):
            _ = loader.nothing  # pyrefly: ignore[missing-attribute]

    def test_totals(self) -> None:
        loader = prepared(range(10), batch_size=4)
        assert (loader.total_batch_size, loader.total_dataset_length) == (4, 10)
        indirect = prepared(range(10), batch_size=None, sampler=BatchSampler(SequentialSampler(range(10)), 3, False))
        assert indirect.total_batch_size == 3
        with pytest.raises(TypeError, match="no len"):
            _ = prepared(Stream(3)).total_dataset_length

    def test_sampler_can_be_exchanged(self) -> None:
        inner = DataLoader(numbers(4), batch_size=2)
        loader = prepare_data_loader(inner)
        assert isinstance(loader, DataLoaderShard)
        loader.set_sampler([3, 2, 1, 0])
        assert loader.get_sampler() == [3, 2, 1, 0]
        assert values(loader) == [[3, 2], [1, 0]]
        assert values(inner) == [[0, 1], [2, 3]]

    def test_skip_batches_of_the_constructor(self) -> None:
        loader = DataLoaderShard(numbers(5), batch_size=2, skip_batches=1)
        assert values(loader) == values(loader) == [[2, 3], [4]]
        assert len(loader) == 2

    def test_can_be_copied_and_pickled(self) -> None:
        loader = prepared(numbers(5), batch_size=2)
        list(loader)
        for clone in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
            assert values(clone) == [[0, 1], [2, 3], [4]]


def rng_states() -> tuple[Any, ...]:
    return torch.get_rng_state(), random.getstate(), np.random.get_state()


def set_rng_states(states: tuple[Any, ...]) -> None:
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])


class Buckets(Sampler[list[int]]):
    """A batch sampler that shuffles with Python's or numpy's generator."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __iter__(self) -> Iterator[list[int]]:
        order = list(range(11))
        if self.kind == "python":
            random.shuffle(order)
        else:
            np.random.shuffle(order)
        return iter([order[i : i + 1] for i in range(11)])

    def __len__(self) -> int:
        return 11


LOADERS: dict[str, Any] = {
    "shuffled": lambda: DataLoader(numbers(11), shuffle=True),
    "augmented": lambda: DataLoader(Noisy(), shuffle=True),
    "own generator": lambda: DataLoader(numbers(11), shuffle=True, generator=torch.Generator().manual_seed(8)),
    "workers": lambda: DataLoader(numbers(11), shuffle=True, num_workers=1),
    "weighted": lambda: DataLoader(numbers(11), sampler=torch.utils.data.WeightedRandomSampler([1.0] * 11, 11)),
    "no batches": lambda: DataLoader(numbers(11), shuffle=True, batch_size=None),
    "python": lambda: DataLoader(numbers(11), batch_sampler=Buckets("python")),
    "numpy": lambda: DataLoader(numbers(11), batch_sampler=Buckets("numpy")),
    "sequential": lambda: DataLoader(numbers(11)),
}


Saved = dict[tuple[int, int], tuple[dict[str, Any], tuple[Any, ...]]]


@pytest.mark.parametrize(
    ("name", "seedable"), [*((name, False) for name in LOADERS), ("shuffled", True), ("own generator", True)]
)
class TestResume:
    """A run that is interrupted goes on as if it had not been, random numbers and all."""

    def start(self, name: str, seedable: bool, seed: int) -> DataLoaderShard:
        for set_seed in (torch.manual_seed, random.seed, np.random.seed):
            set_seed(seed)
        loader = prepare_data_loader(LOADERS[name](), use_seedable_sampler=seedable)
        assert isinstance(loader, DataLoaderShard)
        return loader

    def run(self, loader: DataLoader[Any], source: DataLoaderShard, saved: Saved, epoch: int) -> list[Any]:
        """Train for an epoch of `loader`; after each batch, save the state of the prepared loader `source`."""
        seen = []
        first = len(source) - len(loader)
        for index, batch in enumerate(loader, first + 1):
            seen.append((batch.tolist(), torch.rand(1).item(), random.random(), np.random.rand()))
            saved[epoch, index] = source.state_dict(), rng_states()
        saved[epoch + 1, 0] = source.state_dict(), rng_states()
        return seen

    def load(self, loader: DataLoaderShard, saved: tuple[dict[str, Any], tuple[Any, ...]]) -> None:
        file = io.BytesIO()
        torch.save(saved[0], file)
        file.seek(0)
        loader.load_state_dict(torch.load(file, weights_only=True))
        set_rng_states(saved[1])

    def whole(self, name: str, seedable: bool, saved: Saved) -> list[list[Any]]:
        loader = self.start(name, seedable, 5)
        return [self.run(loader, loader, saved, epoch) for epoch in range(3)]

    @pytest.mark.parametrize(("epoch", "batches"), [(0, 6), (1, 1), (1, 4), (1, 11)])
    def test_within_an_epoch(self, name: str, seedable: bool, epoch: int, batches: int) -> None:
        saved: Saved = {}
        whole = self.whole(name, seedable, saved)
        loader = self.start(name, seedable, 99)
        self.load(loader, saved[epoch, batches])
        assert self.run(skip_first_batches(loader, batches), loader, saved, epoch) == whole[epoch][batches:]
        for later in range(epoch + 1, 3):
            assert self.run(loader, loader, saved, later) == whole[later]
        assert loader.iteration == 3

    def test_twice_within_an_epoch(self, name: str, seedable: bool) -> None:
        saved: Saved = {}
        whole = self.whole(name, seedable, saved)
        second, third = self.start(name, seedable, 99), self.start(name, seedable, 7)
        self.load(second, saved[1, 3])
        saved.clear()
        self.run(skip_first_batches(second, 3), second, saved, 1)
        self.load(third, saved[1, 5])
        assert self.run(skip_first_batches(third, 5), third, saved, 1) == whole[1][5:]

    @pytest.mark.parametrize("place", [(1, 0), (0, 11)])
    def test_between_epochs(self, name: str, seedable: bool, place: tuple[int, int]) -> None:
        saved: Saved = {}
        whole = self.whole(name, seedable, saved)
        loader = self.start(name, seedable, 99)
        self.load(loader, saved[place])
        assert self.run(loader, loader, saved, 1) == whole[1]
        assert self.run(skip_first_batches(loader, 0), loader, saved, 2) == whole[2]


def after_first_batch(loader: DataLoaderShard) -> dict[str, Any]:
    return next(loader.state_dict() for _ in loader)


class TestResumeByHand:
    def test_loading_skips_nothing_by_itself(self) -> None:
        loader = prepare_data_loader(DataLoader(numbers(5), shuffle=True), use_seedable_sampler=True, data_seed=1)
        assert isinstance(loader, DataLoaderShard)
        list(loader)
        second = values(loader)
        loader.set_epoch(1)
        state = after_first_batch(loader)
        loader.set_epoch(0)
        loader.load_state_dict(state)
        assert values(loader) == second

    def test_the_epoch_that_the_program_sets_counts(self) -> None:
        loader = prepared(numbers(5))
        state = after_first_batch(loader)
        loader.load_state_dict(state)
        loader.set_epoch(4)
        assert len(list(skip_first_batches(loader, 2))) == 3
        assert loader.iteration == 5

    def test_state_of_a_loaded_loader_is_the_state_loaded(self) -> None:
        loader = prepared(numbers(5), shuffle=True)
        state = after_first_batch(loader)
        other = prepared(numbers(5), shuffle=True)
        other.load_state_dict(state)
        assert str(other.state_dict()) == str(state)
