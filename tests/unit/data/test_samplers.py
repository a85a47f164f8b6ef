from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, IterableDataset, RandomSampler, SequentialSampler

from accelerate.data.samplers import (
    BatchSamplerShard,
    IterableDatasetShard,
    SeedableRandomSampler,
    SkipBatchSampler,
    length_of,
)
from accelerate.errors import ConfigError


class Bare:
    """A batch sampler with nothing but an iterator."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[list[int]]:
        return iter([[i] for i in range(self.count)])


def batches(samples: int, size: int, drop_last: bool = False) -> BatchSampler:
    return BatchSampler(SequentialSampler(range(samples)), size, drop_last)


class TestSeedableRandomSampler:
    @pytest.mark.parametrize("options", [{}, {"replacement": True}, {"num_samples": 4}, {"num_samples": 14}])
    def test_order_is_that_of_torch_with_seed_plus_epoch(self, options: dict[str, Any]) -> None:
        sampler = SeedableRandomSampler(range(10), data_seed=3, **options)
        for epoch in (0, 1, 2, 7):
            sampler.set_epoch(epoch)
            generator = torch.Generator().manual_seed(3 + epoch)
            assert list(sampler) == list(RandomSampler(range(10), generator=generator, **options))

    def test_epoch_moves_on_by_itself(self) -> None:
        one, other = (SeedableRandomSampler(range(10), data_seed=3) for _ in range(2))
        orders = [list(one) for _ in range(3)]
        assert one.epoch == 3
        assert len({tuple(order) for order in orders}) == 3
        assert orders == [list(other) for _ in range(3)]

    def test_an_interrupted_walk_does_not_count(self) -> None:
        sampler = SeedableRandomSampler(range(10), data_seed=3)
        next(iter(sampler))
        assert sampler.epoch == 0

    def test_takes_the_seed_of_torch(self) -> None:
        torch.manual_seed(42)
        sampler = SeedableRandomSampler(range(10))
        torch.manual_seed(1)
        assert sampler.initial_seed == 42
        assert list(sampler) == torch.randperm(10, generator=torch.Generator().manual_seed(42)).tolist()

    def test_draws_nothing_from_torchs_generator(self) -> None:
        before = torch.get_rng_state()
        list(SeedableRandomSampler(range(10), data_seed=3))
        assert torch.equal(torch.get_rng_state(), before)


class TestBatchSamplerShard:
    def test_has_the_attributes_of_a_batch_sampler(self) -> None:
        inner = batches(10, 3, drop_last=True)
        shard = BatchSamplerShard(inner, 2, 1)
        assert isinstance(shard, BatchSampler)
        assert (shard.batch_sampler, shard.batch_size, shard.drop_last) == (inner, 3, True)
        assert shard.total_length == 3

    def test_works_without_length_and_batch_size(self) -> None:
        shard = BatchSamplerShard(Bare(3), 2, 1)
        assert list(shard) == [[1], [0]]
        assert (shard.batch_size, shard.drop_last) == (None, False)
        with pytest.raises(TypeError, match="'Bare' has no len"):
            len(shard)

    @pytest.mark.parametrize("split", [True, False])
    @pytest.mark.parametrize("even", [True, False])
    @pytest.mark.parametrize("drop_last", [True, False])
    def test_length_is_what_is_given(self, split: bool, even: bool, drop_last: bool) -> None:
        for samples in range(20):
            for rank in range(2):
                shard = BatchSamplerShard(batches(samples, 4, drop_last), 2, rank, split, even)
                assert len(shard) == len(list(shard)), (samples, rank)

    @pytest.mark.parametrize("sampler", [batches(10, 3), Bare(3)])
    def test_refuses_to_split_what_cannot_be_split(self, sampler: Any) -> None:
        with pytest.raises(ConfigError, match="must be a multiple of 2"):
            BatchSamplerShard(sampler, 2, 0, split_batches=True)


class TestSkipBatchSampler:
    @pytest.mark.parametrize(("skip", "expected"), [(0, [[0], [1], [2]]), (2, [[2]]), (3, []), (9, [])])
    def test_leaves_out_the_first(self, skip: int, expected: list[list[int]]) -> None:
        sampler = SkipBatchSampler(batches(3, 1), skip)
        assert list(sampler) == list(sampler) == expected
        assert len(sampler) == len(expected)
        assert sampler.total_length == 3

    def test_has_the_attributes_of_the_inner_one(self) -> None:
        inner = batches(3, 2)
        sampler = SkipBatchSampler(inner, 1)
        assert (sampler.batch_size, sampler.drop_last, sampler.sampler) == (2, False, inner.sampler)
        with pytest.raises(AttributeError):
            _ = sampler.nothing

    def test_calls_back_once_before_the_first_kept_batch(self) -> None:
        calls: list[str] = []
        sampler = SkipBatchSampler(batches(3, 1), 1)
        sampler.on_first = lambda: calls.append("first")
        assert list(sampler) == [[1], [2]]
        assert list(sampler) == [[1], [2]]
        assert calls == ["first"]

    def test_can_be_copied_and_pickled(self) -> None:
        sampler = SkipBatchSampler(batches(3, 1), 1)
        for clone in (copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
            assert list(clone) == [[1], [2]]


class Numbers(IterableDataset[int]):
    def __init__(self, count: int) -> None:
        self.count = count
        self.epochs: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)


class Shuffled(IterableDataset[int]):
    def __init__(self) -> None:
        self.generator = torch.Generator()

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(6, generator=self.generator).tolist())


class TestIterableDatasetShard:
    @pytest.mark.parametrize("split", [True, False])
    @pytest.mark.parametrize("drop_last", [True, False])
    def test_length_is_what_is_given(self, split: bool, drop_last: bool) -> None:
        for samples in range(20):
            for rank in range(2):
                shard = IterableDatasetShard(list(range(samples)), 4, drop_last, 2, rank, split)
                assert len(shard) == len(list(shard)), (samples, rank)
                assert shard.total_length == samples

    def test_without_length(self) -> None:
        with pytest.raises(TypeError, match="'Numbers' has no len"):
            len(IterableDatasetShard(Numbers(3)))

    def test_forwards_the_epoch(self) -> None:
        dataset = Numbers(3)
        shard = IterableDatasetShard(dataset, 1, False, 2, 0)
        shard.set_epoch(4)
        assert (shard.epoch, dataset.epochs) == (4, [4])
        IterableDatasetShard([1, 2]).set_epoch(1)

    def test_ranks_agree_on_a_random_order(self) -> None:
        shards = [IterableDatasetShard(Shuffled(), 1, False, 2, rank) for rank in range(2)]
        seen = []
        for epoch in range(2):
            for shard in shards:
                shard.set_epoch(epoch)
            first, second = (list(shard) for shard in shards)
            assert sorted(first + second) == list(range(6))
            seen.append(first)
        assert seen[0] != seen[1]

    def test_refuses_to_split_what_cannot_be_split(self) -> None:
        with pytest.raises(ConfigError, match="batch size is 3"):
            IterableDatasetShard(range(4), 3, False, 2, 0, split_batches=True)


def test_length_of() -> None:
    assert length_of([1, 2]) == 2
    with pytest.raises(TypeError, match=r"object of type 'int' has no len\(\)"):
        length_of(3)
