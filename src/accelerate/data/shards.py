"""Which samples each of several processes gets. Integers and lists only: no torch, no randomness, no communication.

Every process walks through the same batches (or samples) in the same order and keeps its own part. `ranks` is the
number of processes, `rank` the number of this one. With `even`, the end is filled up with samples from the beginning,
as often as needed, until all processes have got the same number of full batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle, islice
from typing import TypeVar

T = TypeVar("T")


def deal_batches(
    batches: Iterable[Sequence[T]], ranks: int, rank: int, *, batch_size: int | None, drop_last: bool, even: bool
) -> Iterator[list[T]]:
    """Give batch i of each round of `ranks` batches to process i.

    A batch is given as soon as its round is complete: nothing is read ahead of that, as sources may be slow or endless.
    `batch_size` is the size of full batches, or None when batches have no common size; then whole batches fill up.
    """
    first: list[Sequence[T]] = []
    hand: list[Sequence[T]] = []
    for batch in batches:
        if len(hand) == ranks:  # The round ended with a short batch, but was not the last one: sizes differ.
            yield list(hand[rank])
            hand = []
        hand.append(batch)
        if even and len(first) < ranks:
            first.append(batch)
        if len(hand) == ranks and (batch_size is None or all(len(b) == batch_size for b in hand)):
            yield list(hand[rank])
            hand = []
    if not hand or (drop_last and len(hand) < ranks):
        return
    if even and batch_size is not None:
        samples = chain(chain.from_iterable(hand), cycle(chain.from_iterable(first)))
        yield list(islice(samples, rank * batch_size, (rank + 1) * batch_size))
    elif even:
        yield list(next(islice(chain(hand, cycle(first)), rank, None)))
    elif rank < len(hand):
        yield list(hand[rank])


def count_dealt(batches: int, ranks: int, rank: int, *, drop_last: bool, even: bool) -> int:
    """Return how many batches `deal_batches` gives out of `batches` ones."""
    rounds, left = divmod(batches, ranks)
    if left == 0 or drop_last:
        return rounds
    return rounds + (1 if even or rank < left else 0)


def cut_batches(
    batches: Iterable[Sequence[T]], ranks: int, rank: int, *, batch_size: int, drop_last: bool, even: bool
) -> Iterator[list[T]]:
    """Cut each batch into `ranks` equal parts and give part i to process i. `ranks` divides `batch_size`."""
    part = slice(rank * batch_size // ranks, (rank + 1) * batch_size // ranks)
    start: Sequence[T] | None = None
    for batch in batches:
        start = batch if start is None else start
        if len(batch) < batch_size:
            if drop_last:
                continue
            if even and start:
                batch = list(islice(chain(batch, cycle(start)), batch_size))
        mine = list(batch[part])
        if mine:
            yield mine


def count_cut(batches: int, ranks: int, rank: int, *, batch_size: int, last: int, drop_last: bool, even: bool) -> int:
    """Return how many parts `cut_batches` gives out of `batches` ones, the last of which has `last` samples."""
    if batches == 0 or last >= batch_size:
        return batches
    if drop_last:
        return batches - 1
    return batches if even or rank * batch_size // ranks < last else batches - 1


def deal_samples(samples: Iterable[T], ranks: int, rank: int, *, share: int, drop_last: bool) -> Iterator[T]:
    """Give `share` samples of each `ranks * share` to process 0, the next ones to process 1, and so on.

    The last, incomplete group is dropped with `drop_last`, else filled up from the beginning.
    """
    group = ranks * share
    mine = slice(rank * share, (rank + 1) * share)
    start: list[T] = []
    hand: list[T] = []
    for sample in samples:
        hand.append(sample)
        if len(hand) == group:
            start = start or hand
            yield from hand[mine]
            hand = []
    if hand and not drop_last:
        yield from list(islice(chain(hand, cycle(start or hand)), group))[mine]


def count_samples(samples: int, ranks: int, *, share: int, drop_last: bool) -> int:
    """Return how many samples `deal_samples` gives to each process out of `samples` ones."""
    groups, left = divmod(samples, ranks * share)
    return (groups + (1 if left and not drop_last else 0)) * share
