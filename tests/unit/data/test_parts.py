from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

from accelerate.data import parts
from accelerate.data.samplers import BatchSamplerShard, SkipBatchSampler

DATA: Any = [0, 1, 2, 3]  # torch takes any sequence; its annotations do not.
BATCHES = BatchSampler(SequentialSampler(range(4)), 2, False)
LOADERS: dict[str, DataLoader[Any]] = {
    "plain": DataLoader(DATA, batch_size=2),
    "batch sampler": DataLoader(DATA, batch_sampler=BATCHES),
    "wrapped": DataLoader(DATA, batch_sampler=SkipBatchSampler(BatchSamplerShard(BATCHES, 1, 0), 0)),
    "single requests": DataLoader(DATA, batch_size=None, sampler=BATCHES, collate_fn=list),
    "no batches": DataLoader(DATA, batch_size=None),
}


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("plain", "batch_sampler"),
        ("batch sampler", "batch_sampler"),
        ("wrapped", "batch_sampler"),
        ("single requests", "sampler"),
        ("no batches", None),
    ],
)
def test_where_batches_come_from(name: str, attribute: str | None) -> None:
    loader = LOADERS[name]
    assert parts.batches_from(loader) == attribute
    assert parts.batch_source(loader) is (getattr(loader, attribute) if attribute else None)


@pytest.mark.parametrize("name", ["plain", "batch sampler", "wrapped", "no batches"])
def test_sampler_is_found_and_exchanged(name: str) -> None:
    loader = LOADERS[name]
    sampler = parts.get_sampler(loader)
    assert isinstance(sampler, SequentialSampler)
    changed = parts.replace_sampler(loader, [3, 2, 1, 0])
    assert [int(sample) for batch in changed for sample in torch.as_tensor(batch).reshape(-1)] == [3, 2, 1, 0]
    assert parts.get_sampler(changed) == [3, 2, 1, 0]
    assert parts.get_sampler(loader) is sampler


def test_a_bare_batch_sampler_has_no_sampler() -> None:
    assert parts.get_sampler(DataLoader(DATA, batch_sampler=[[0], [1]])) is None


def test_replacing_changes_a_copy() -> None:
    loader = DataLoader(DATA, num_workers=1, persistent_workers=True)
    list(loader)
    changed = parts.replace(loader, pin_memory=True)
    assert (loader.pin_memory, changed.pin_memory) == (False, True)
    assert changed._iterator is None
    assert loader._iterator is not None


def test_own_iter_is_seen() -> None:
    class Own(DataLoader[Any]):
        def __iter__(self) -> Any:
            return super().__iter__()

    class Plain(DataLoader[Any]):
        pass

    assert parts.iterates_itself(Own(DATA))
    assert not parts.iterates_itself(Plain(DATA))
