from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.data import shards

samples_count = st.integers(0, 60)
sizes = st.integers(1, 6)
ranks_count = st.integers(1, 5)


def batches_of(samples: int, size: int, drop_last: bool) -> list[list[int]]:
    cut = [list(range(i, min(i + size, samples))) for i in range(0, samples, size)]
    return [batch for batch in cut if len(batch) == size] if drop_last else cut


def deal(batches: list[list[int]], ranks: int, **options: Any) -> list[list[list[int]]]:
    return [list(shards.deal_batches(batches, ranks, rank, **options)) for rank in range(ranks)]


def flat(parts: list[list[list[int]]]) -> Counter[int]:
    return Counter(sample for part in parts for batch in part for sample in batch)


@given(samples_count, sizes, ranks_count)
def test_dealing_unevenly_gives_each_sample_once(samples: int, size: int, ranks: int) -> None:
    parts = deal(batches_of(samples, size, False), ranks, batch_size=size, drop_last=False, even=False)
    assert flat(parts) == Counter(range(samples))


@given(samples_count, sizes, ranks_count, st.booleans())
def test_dealing_evenly_gives_every_rank_the_same_number_of_full_batches(
    samples: int, size: int, ranks: int, drop_last: bool
) -> None:
    batches = batches_of(samples, size, drop_last)
    parts = deal(batches, ranks, batch_size=size, drop_last=drop_last, even=True)
    assert len({len(part) for part in parts}) == 1
    assert all(len(batch) == size for part in parts for batch in part)
    given_out = flat(parts)
    if drop_last:
        assert max(given_out.values(), default=1) == 1
    else:
        assert set(given_out) == set(range(samples))
        assert sum(given_out.values()) - samples < ranks * size


@given(samples_count, sizes, ranks_count)
def test_what_fills_up_comes_from_the_start(samples: int, size: int, ranks: int) -> None:
    parts = deal(batches_of(samples, size, False), ranks, batch_size=size, drop_last=False, even=True)
    rounds = len(parts[0])
    order = [sample for turn in range(rounds) for part in parts for sample in part[turn]]
    first_round = list(range(min(samples, ranks * size)))
    expected = list(range(samples))
    while len(expected) < len(order):
        expected += first_round
    assert order == expected[: len(order)]


@given(samples_count, sizes, ranks_count, st.booleans(), st.booleans())
def test_counting_dealt_batches(samples: int, size: int, ranks: int, drop_last: bool, even: bool) -> None:
    batches = batches_of(samples, size, drop_last)
    for rank, part in enumerate(deal(batches, ranks, batch_size=size, drop_last=drop_last, even=even)):
        assert shards.count_dealt(len(batches), ranks, rank, drop_last=drop_last, even=even) == len(part)


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=5), max_size=20), ranks_count)
def test_batches_of_any_size_are_dealt_whole(batches: list[list[int]], ranks: int) -> None:
    for size in (None, 3):
        parts = deal(batches, ranks, batch_size=size, drop_last=False, even=False)
        assert parts == [batches[rank::ranks] for rank in range(ranks)]


@pytest.mark.parametrize(
    ("batches", "ranks", "expected"),
    [
        ([[0, 5], [1], [2]], 2, [[[0, 5], [2]], [[1], [0, 5]]]),
        ([[0, 5]], 3, [[[0, 5]], [[0, 5]], [[0, 5]]]),
        ([[0, 5], [1, 6, 7], [2], [3]], 3, [[[0, 5], [3]], [[1, 6, 7], [0, 5]], [[2], [1, 6, 7]]]),
    ],
)
def test_batches_without_common_size_are_filled_up_with_whole_batches(
    batches: list[list[int]], ranks: int, expected: list[list[list[int]]]
) -> None:
    assert deal(batches, ranks, batch_size=None, drop_last=False, even=True) == expected


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("even", [True, False])
def test_dealing_reads_no_further_than_the_round(rank: int, even: bool) -> None:
    read: list[int] = []

    def endless() -> Iterator[list[int]]:
        while True:
            read.append(len(read))
            yield [0, 0]

    dealt = shards.deal_batches(endless(), 3, rank, batch_size=2, drop_last=False, even=even)
    next(dealt)
    next(dealt)
    assert len(read) == 6


@given(samples_count, st.integers(1, 3), ranks_count, st.booleans(), st.booleans())
def test_cutting_batches(samples: int, share: int, ranks: int, drop_last: bool, even: bool) -> None:
    size = share * ranks
    batches = batches_of(samples, size, drop_last)
    last = samples % size or size
    parts = [
        list(shards.cut_batches(batches, ranks, rank, batch_size=size, drop_last=drop_last, even=even))
        for rank in range(ranks)
    ]
    for rank, part in enumerate(parts):
        counted = shards.count_cut(
            len(batches), ranks, rank, batch_size=size, last=size if drop_last else last, drop_last=drop_last, even=even
        )
        assert counted == len(part)
    if drop_last:
        assert flat(parts) == Counter(range(samples // size * size))
    elif even:
        assert all(len(batch) == share for part in parts for batch in part)
        assert set(flat(parts)) == set(range(samples))
    else:
        assert flat(parts) == Counter(range(samples))


def test_cutting_drops_a_short_batch_when_told() -> None:
    assert list(shards.cut_batches([[0, 1], [2]], 2, 0, batch_size=2, drop_last=True, even=True)) == [[0]]
    assert shards.count_cut(2, 2, 0, batch_size=2, last=1, drop_last=True, even=True) == 1


@given(samples_count, sizes, ranks_count, st.booleans())
def test_dealing_samples(samples: int, share: int, ranks: int, drop_last: bool) -> None:
    parts = [
        list(shards.deal_samples(range(samples), ranks, rank, share=share, drop_last=drop_last))
        for rank in range(ranks)
    ]
    counted = shards.count_samples(samples, ranks, share=share, drop_last=drop_last)
    assert [len(part) for part in parts] == [counted] * ranks
    groups = range(0, counted, share)
    order = [sample for group in groups for part in parts for sample in part[group : group + share]]
    kept = min(samples, len(order))
    assert order[:kept] == list(range(kept))
    if not drop_last:
        assert kept == samples
    assert order[kept:] == [sample % min(samples, ranks * share) for sample in range(len(order) - kept)]
