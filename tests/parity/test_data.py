"""Loaders, under the peer and under ours."""

from __future__ import annotations

import pytest

from parity.peer import requires_peer, run_both

pytestmark = [requires_peer, pytest.mark.parity]

SHARDS = """
import itertools
from torch.utils.data import BatchSampler
from accelerate.data_loader import BatchSamplerShard, IterableDatasetShard

for n, size, ranks, drop_last, split, even in itertools.product(
    range(0, 27), (1, 2, 3, 4, 6), (1, 2, 3), (True, False), (True, False), (True, False)
):
    if split and size % ranks:
        continue
    key = f"{n} samples, batch {size}, {ranks} ranks, drop_last {drop_last}, split {split}, even {even}"
    sampler = BatchSampler(range(n), size, drop_last)
    shards = [BatchSamplerShard(sampler, ranks, r, split_batches=split, even_batches=even) for r in range(ranks)]
    report("batches: " + key, [list(shard) for shard in shards])
    shards = [IterableDatasetShard(range(n), size, drop_last, ranks, r, split) for r in range(ranks)]
    report("samples: " + key, [list(shard) for shard in shards])
"""

PRELUDE = """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.data_loader import prepare_data_loader, skip_first_batches
from accelerate.state import GradientState


class Noisy(Dataset):
    # Draws from torch's generator for each sample, as augmentations do.
    def __len__(self):
        return 11

    def __getitem__(self, index):
        return index + torch.rand(())


class Stream(IterableDataset):
    def __init__(self, count, sized=False):
        self.items = list(range(count))

    def __iter__(self):
        return iter(self.items)


class Sized(Stream):
    def __len__(self):
        return len(self.items)


def loop(loader):
    # Each batch with what a training step draws after it.
    return [(batch, torch.rand(1).item()) for batch in loader]


def flags(loader):
    state = GradientState()
    seen = []
    for batch in loader:
        seen.append((batch, state.end_of_dataloader, state.remainder, state.in_dataloader, loader.end_of_dataloader))
    seen.append((state.end_of_dataloader, state.remainder, state.in_dataloader, loader.remainder))
    return seen
"""

ORDERS = (
    PRELUDE
    + """
LOADERS = {
    "sequential": lambda: DataLoader(torch.arange(10), batch_size=4),
    "shuffled": lambda: DataLoader(torch.arange(10), batch_size=4, shuffle=True),
    "noisy": lambda: DataLoader(Noisy(), batch_size=4, shuffle=True),
    "own generator": lambda: DataLoader(
        torch.arange(10), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(5)
    ),
    "workers": lambda: DataLoader(Noisy(), batch_size=2, shuffle=True, num_workers=1),
    "weighted": lambda: DataLoader(
        torch.arange(10), batch_size=3, sampler=WeightedRandomSampler(torch.arange(10).float(), 10)
    ),
    "batch sampler": lambda: DataLoader(torch.arange(10), batch_sampler=[[0, 1, 2], [5], [3, 4]]),
    "no batches": lambda: DataLoader(torch.arange(10), batch_size=None),
    "stream": lambda: DataLoader(Stream(7), batch_size=3),
}
CONFIGURATIONS = {
    "default": {},
    "seedable": {"use_seedable_sampler": True},
    "data seed": {"use_seedable_sampler": True, "data_seed": 9},
}
for name, make in LOADERS.items():
    for options, configuration in CONFIGURATIONS.items():
        if name == "workers" and configuration:
            continue
        torch.manual_seed(3)
        accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(**configuration))
        loader = accelerator.prepare(make())
        report(f"{name}, {options}", [loop(loader) for _ in range(3)])
        loader.set_epoch(7)
        report(f"{name}, {options}, from epoch 7 on", [loop(loader), loop(loader), loader.iteration])
"""
)

FLAGS = """
accelerator = Accelerator()
LOADERS = {
    "10 by 4": lambda: DataLoader(torch.arange(10), batch_size=4),
    "8 by 4": lambda: DataLoader(torch.arange(8), batch_size=4),
    "10 by 4, last dropped": lambda: DataLoader(torch.arange(10), batch_size=4, drop_last=True),
    "1 by 4": lambda: DataLoader(torch.arange(1), batch_size=4),
    "no batches": lambda: DataLoader(torch.arange(3), batch_size=None),
    "batch sampler": lambda: DataLoader(torch.arange(10), batch_sampler=[[0, 1, 2], [3, 4], [5]]),
    "stream": lambda: DataLoader(Stream(10), batch_size=4),
    "sized stream": lambda: DataLoader(Sized(10), batch_size=4),
    "stream, last dropped": lambda: DataLoader(Stream(10), batch_size=4, drop_last=True),
    "dictionaries": lambda: DataLoader([{"x": float(i)} for i in range(5)], batch_size=2),
}
for name, make in LOADERS.items():
    loader = accelerator.prepare(make())
    report(name, [flags(loader), flags(loader)])
    if name != "stream" and name != "stream, last dropped":
        report(name + ": length", len(loader))
for name in ("10 by 4", "8 by 4", "10 by 4, last dropped", "1 by 4"):
    loader = accelerator.prepare(LOADERS[name]())
    report(name + ": totals", (loader.total_batch_size, loader.total_dataset_length))

outer, inner = accelerator.prepare(LOADERS["10 by 4"](), LOADERS["1 by 4"]())
state = GradientState()
for index, _ in enumerate(outer):
    for _ in inner:
        report(f"nested {index}", (state.active_dataloader is inner, state.end_of_dataloader, state.remainder))
    report(f"outer {index}", (state.active_dataloader is outer, state.end_of_dataloader, state.remainder))
"""

SKIPPING = """
for options in ({}, {"use_seedable_sampler": True}):
    for count in (0, 1, 2, 3):
        torch.manual_seed(3)
        accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(**options))
        raw = DataLoader(Noisy(), batch_size=4, shuffle=True)
        prepared = accelerator.prepare(DataLoader(Noisy(), batch_size=4, shuffle=True))
        stream = accelerator.prepare(DataLoader(Stream(11), batch_size=4))
        for name, loader in (("raw", raw), ("prepared", prepared), ("stream", stream)):
            skipping = skip_first_batches(loader, count)
            report(f"{options} {name} without {count}", loop(skipping))
            if name != "stream":  # Where the peer forgets the first skip, and has no length.
                again = skip_first_batches(skip_first_batches(loader, count), 1)
                report(f"{options} {name} without {count} and 1", [batch.shape for batch in again])
                report(f"{options} {name} without {count}: length", len(skipping))
"""

PROCESSES = """
for rank in range(2):
    for options in ({}, {"split_batches": True}, {"even_batches": False}, {"use_seedable_sampler": True}):
        for name, make in {
            "sequential": lambda: DataLoader(torch.arange(11), batch_size=4),
            "shuffled": lambda: DataLoader(torch.arange(11), batch_size=4, shuffle=True),
            "weighted": lambda: DataLoader(
                torch.arange(11), batch_size=4, sampler=WeightedRandomSampler(torch.arange(11).float(), 11)
            ),
            "last dropped": lambda: DataLoader(torch.arange(11), batch_size=4, drop_last=True),
        }.items():
            torch.manual_seed(3)
            loader = prepare_data_loader(make(), num_processes=2, process_index=rank, **options)
            if name == "weighted" and "use_seedable_sampler" in options:
                continue  # The peer's processes draw different samples then.
            key = f"rank {rank}, {name}, {options}"
            report(key, [loop(loader) for _ in range(2)])
            report(key + ": numbers", (len(loader), loader.remainder, loader.total_batch_size))
            report(key + ": generator", loader.synchronized_generator is None)
            stream = prepare_data_loader(
                DataLoader(Stream(11), batch_size=4), num_processes=2, process_index=rank, **options
            )
            report(key + ": stream", [batch for batch in stream])
"""


@pytest.mark.parametrize(
    "script",
    [pytest.param(ORDERS, id="orders"), pytest.param(PRELUDE + FLAGS + SKIPPING + PROCESSES + SHARDS, id="rest")],
)
def test_same_as_the_peer(script: str) -> None:
    peer, ours = run_both(script)
    assert set(ours) == set(peer)
    different = [key for key in peer if ours[key] != peer[key]]
    assert {key: ours[key] for key in different} == {key: peer[key] for key in different}
