from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, SequentialSampler

from accelerate.data.dispatch import DataLoaderDispatcher
from accelerate.data.loader import DataLoaderShard
from accelerate.data.prepare import prepare_data_loader
from accelerate.data.samplers import BatchSamplerShard, IterableDatasetShard, SeedableRandomSampler
from accelerate.errors import ConfigError


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(10))


class Plus100(DataLoader[Any]):
    """A subclass with an argument and an `__iter__` of its own, as for dynamic batches."""

    def __init__(self, dataset: Any, amount: int, **options: Any) -> None:
        super().__init__(dataset, **options)
        self.amount = amount

    def __iter__(self) -> Iterator[Any]:  # pyrefly: ignore[bad-override]
        for batch in super().__iter__():
            yield batch + self.amount

    def hello(self) -> str:
        return "hello"


def numbers(count: int) -> Any:
    return torch.arange(count)


def values(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def prepare(loader: DataLoader[Any], **options: Any) -> DataLoaderShard:
    prepared = prepare_data_loader(loader, **options)
    assert isinstance(prepared, DataLoaderShard)
    return prepared


class TestTheUsersLoader:
    def test_does_the_work_itself_when_nothing_changes(self) -> None:
        loader = DataLoader(numbers(4))
        assert prepare(loader).base_dataloader is loader

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"use_seedable_sampler": True, "data_seed": 0},
            {"put_on_device": True, "device": "cpu"},
            {"num_processes": 2, "process_index": 0},
        ],
    )
    def test_subclass_is_kept(self, options: dict[str, Any]) -> None:
        prepared = prepare(
            Plus100(numbers(8), 100, batch_size=2, shuffle=True, pin_memory="device" in options), **options
        )
        assert all(value >= 100 for batch in values(prepared) for value in batch)
        assert isinstance(prepared.base_dataloader, Plus100)
        assert (prepared.amount, prepared.hello()) == (100, "hello")

    def test_is_left_as_it_is(self) -> None:
        loader = DataLoader(numbers(8), batch_size=2, shuffle=True, pin_memory=True)
        before = dict(vars(loader))
        sampler = loader.sampler
        prepare(loader, use_seedable_sampler=True, num_processes=2, process_index=1, device="cpu", put_on_device=True)
        assert vars(loader) == before
        assert loader.batch_sampler is not None
        assert loader.batch_sampler.sampler is sampler  # pyrefly: ignore[missing-attribute]

    @pytest.mark.parametrize("options", [{}, {"num_processes": 2, "process_index": 0}, {"use_seedable_sampler": True}])
    def test_keeps_its_workers(self, options: dict[str, Any]) -> None:
        generator = torch.Generator()
        given: dict[str, Any] = {
            "num_workers": 1,
            "prefetch_factor": 3,
            "persistent_workers": True,
            "timeout": 5,
            "worker_init_fn": print,
            "generator": generator,
        }
        loader = DataLoader(numbers(8), shuffle=True, multiprocessing_context="fork", **given)
        prepared = prepare(loader, **options)
        assert {name: getattr(prepared, name) for name in given} == given
        assert prepared.multiprocessing_context is loader.multiprocessing_context

    def test_persistent_workers_serve_several_epochs(self) -> None:
        loader = DataLoader(numbers(4), num_workers=1, persistent_workers=True)
        prepared = prepare(loader)
        assert values(prepared) == values(prepared) == [[0], [1], [2], [3]]
        assert prepared._iterator is loader._iterator is not None

    def test_prepared_twice_is_prepared_once(self) -> None:
        prepared = prepare(DataLoader(numbers(4)), num_processes=2, process_index=0)
        assert prepare_data_loader(prepared, num_processes=2, process_index=0) is prepared


class TestPinning:
    def test_is_left_out_without_torchs_warning(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prepared = prepare(DataLoader(numbers(4), pin_memory=True), device="cpu", put_on_device=True)
            assert values(prepared) == [[0], [1], [2], [3]]
        assert prepared.pin_memory is False

    @pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"device": "meta", "put_on_device": True}])
    def test_is_kept_where_the_target_is_unknown(self, options: dict[str, Any]) -> None:
        assert prepare(DataLoader(numbers(4), pin_memory=True), **options).pin_memory is True


class TestSeedableSampler:
    @pytest.mark.parametrize("options", [{}, {"batch_size": None}])
    def test_takes_the_place_of_a_random_sampler(self, options: dict[str, Any]) -> None:
        prepared = prepare(DataLoader(numbers(10), shuffle=True, **options), use_seedable_sampler=True, data_seed=4)
        sampler = prepared.get_sampler()
        assert isinstance(sampler, SeedableRandomSampler)
        assert sampler.initial_seed == 4
        expected = torch.randperm(10, generator=torch.Generator().manual_seed(4)).tolist()
        assert torch.stack([batch.squeeze() for batch in prepared]).tolist() == expected

    def test_keeps_the_options_of_the_random_sampler(self) -> None:
        sampler = RandomSampler(range(10), replacement=True, num_samples=30)
        batches = BatchSampler(sampler, 7, drop_last=True)
        prepared = prepare(DataLoader(numbers(10), batch_sampler=batches), use_seedable_sampler=True)
        seedable = prepared.get_sampler()
        assert isinstance(seedable, SeedableRandomSampler)
        assert (seedable.replacement, seedable.num_samples) == (True, 30)
        assert [len(batch) for batch in prepared] == [7, 7, 7, 7]
        assert batches.sampler is sampler

    @pytest.mark.parametrize(
        "loader",
        [
            DataLoader(numbers(4)),
            DataLoader(numbers(4), batch_sampler=[[0], [1]]),
            DataLoader(Stream()),
            DataLoader(numbers(4), sampler=SeedableRandomSampler(range(4))),
        ],
    )
    def test_leaves_other_orders_alone(self, loader: DataLoader[Any]) -> None:
        assert prepare(loader, use_seedable_sampler=True).base_dataloader is loader


class TestProcesses:
    @pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_sampler": BatchSampler(range(8), 2, False)}])
    def test_share_the_batches(self, options: dict[str, Any]) -> None:
        parts = [prepare(DataLoader(numbers(8), **options), num_processes=2, process_index=rank) for rank in range(2)]
        assert [values(part) for part in parts] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
        for part in parts:
            assert isinstance(part.batch_sampler, BatchSamplerShard)
            assert (part.total_batch_size, part.total_dataset_length, len(part)) == (4, 8, 2)

    def test_share_batches_that_are_single_requests(self) -> None:
        sampler = BatchSampler(SequentialSampler(range(8)), 2, False)
        loader = DataLoader(numbers(8), batch_size=None, sampler=sampler)
        assert values(prepare(loader, num_processes=2, process_index=1)) == [[2, 3], [6, 7]]

    @pytest.mark.parametrize(
        ("split", "expected", "total"),
        [(False, [[[0, 1, 2, 3], [8, 9, 0, 1]], [[4, 5, 6, 7], [2, 3, 4, 5]]], 8),
         (True, [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [0, 1]]], 4)],
    )  # fmt: skip
    def test_share_a_stream(self, split: bool, expected: list[Any], total: int) -> None:
        for rank in range(2):
            loader = DataLoader(Stream(), batch_size=4)
            part = prepare(loader, num_processes=2, process_index=rank, split_batches=split)
            assert values(part) == expected[rank]
            assert isinstance(part.dataset, IterableDatasetShard)
            assert part.total_batch_size == total
            assert part.remainder == -1

    def test_remainder_of_a_stream_with_length(self) -> None:
        class Sized(Stream):
            def __len__(self) -> int:
                return 10

        part = prepare(DataLoader(Sized(), batch_size=4), num_processes=2, process_index=0)
        assert [part.remainder for _ in part] == [2, 2]
        assert part.total_dataset_length == 10

    def test_shuffle_has_a_generator_that_can_be_made_equal(self) -> None:
        own = torch.Generator()
        for generator in (None, own):
            loader = DataLoader(numbers(8), shuffle=True, generator=generator)
            part = prepare(loader, num_processes=2, process_index=0)
            assert isinstance(part.synchronized_generator, torch.Generator)
            assert part.get_sampler().generator is part.synchronized_generator
            assert (part.synchronized_generator is own) is (generator is own)
        assert prepare(DataLoader(numbers(8)), num_processes=2, process_index=0).synchronized_generator is None

    def test_samples_without_batches_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="batch_size=None"):
            prepare(DataLoader(numbers(4), batch_size=None), num_processes=2, process_index=0)

    @pytest.mark.parametrize("dataset", [numbers(6), Stream()])
    def test_batches_that_cannot_be_split_are_refused(self, dataset: Any) -> None:
        with pytest.raises(ConfigError, match="The batch size is 3"):
            prepare(DataLoader(dataset, batch_size=3), num_processes=2, process_index=0, split_batches=True)

    def test_rank_must_be_one_of_them(self) -> None:
        with pytest.raises(ConfigError, match="process_index=2 with num_processes=2"):
            prepare(DataLoader(numbers(4)), num_processes=2, process_index=2)


class TestDispatching:
    def test_in_one_process_is_the_ordinary_loader(self) -> None:
        prepared = prepare(DataLoader(numbers(3)), device="cpu", put_on_device=True, dispatch_batches=True)
        assert isinstance(prepared, DataLoaderDispatcher)
        assert prepared.device == torch.device("cpu")
        assert values(prepared) == [[0], [1], [2]]

    def test_in_several_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="dispatch_batches=True was given with 2 processes"):
            prepare(DataLoader(numbers(3)), num_processes=2, process_index=0, put_on_device=True, dispatch_batches=True)

    def test_needs_a_device(self) -> None:
        with pytest.raises(ConfigError, match="put_on_device=True"):
            prepare(DataLoader(numbers(3)), dispatch_batches=True)


@pytest.mark.parametrize("found", [[1, 2], None, "x", numbers(3)])
def test_refuses_what_is_no_loader(found: Any) -> None:
    with pytest.raises(ConfigError, match=rf"got an object of type {type(found).__name__}\. .*DataLoader"):
        prepare_data_loader(found)


def test_refuses_a_mesh() -> None:
    class Mesh:
        def size(self) -> int:
            return 4

    with pytest.raises(ConfigError, match="mesh of 4 devices"):
        prepare(DataLoader(numbers(3)), torch_device_mesh=Mesh())
