"""Turning a torch loader into the loader of one process."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

from accelerate.data import parts
from accelerate.data.adapter import stateful_loader_class
from accelerate.data.dispatch import DataLoaderDispatcher
from accelerate.data.loader import DataLoaderShard
from accelerate.data.samplers import BatchSamplerShard, IterableDatasetShard, SeedableRandomSampler, check_divisible
from accelerate.devices import registry
from accelerate.errors import ConfigError
from accelerate.log import topic

_log = topic("data")


def prepare_data_loader(
    dataloader: DataLoader[Any],
    device: torch.device | str | int | None = None,
    num_processes: int | None = None,
    process_index: int | None = None,
    split_batches: bool = False,
    put_on_device: bool = False,
    rng_types: list[Any] | None = None,
    dispatch_batches: bool | None = None,
    even_batches: bool = True,
    slice_fn_for_dispatch: Callable[..., Any] | None = None,
    use_seedable_sampler: bool = False,
    data_seed: int | None = None,
    non_blocking: bool = False,
    use_stateful_dataloader: bool = False,
    torch_device_mesh: Any = None,
) -> DataLoader[Any]:
    """Return a `DataLoaderShard` that gives this process its part of the batches of `dataloader`.

    The loader itself stays as it is and does the work: its class's own `__iter__`, its workers and all other options
    are kept. Where a part has to change, a copy with that part exchanged is used. A prepared loader is returned as it
    is.

    Args:
        dataloader: A torch loader.
        device: Where batches are put, with `put_on_device`.
        num_processes: Processes that share the batches; None means those of torch's process group, 1 without one.
        process_index: Number of this process among them.
        split_batches: Cut each batch among the processes, instead of giving whole batches in turn.
        put_on_device: Whether to put batches on the device.
        rng_types: Which random generators are made equal in all processes when an epoch begins.
        dispatch_batches: Let one process read the data and send the others their part.
        even_batches: Repeat samples from the start until all processes have the same number of full batches.
        slice_fn_for_dispatch: How to take one process's part of a batch that was read for all.
        use_seedable_sampler: Put a `SeedableRandomSampler` in the place of a random sampler.
        data_seed: Its seed; None takes over that of torch's generator.
        non_blocking: Whether copies to the device may overlap with computation, where the device allows that.
        use_stateful_dataloader: Let torchdata's `StatefulDataLoader` do the work.
        torch_device_mesh: The mesh of devices of the run, when it has more than one axis.

    Raises:
        ConfigError: `dataloader` is no torch `DataLoader`, or the options cannot be used, alone or together.
    """
    parts.check_is_loader(dataloader, "prepare_data_loader")
    if isinstance(dataloader, DataLoaderShard):
        return dataloader
    world, rank = _place(num_processes, process_index)
    _check_options(world, dispatch_batches, put_on_device, torch_device_mesh)
    loader = dataloader
    if use_seedable_sampler:
        loader = _with_seedable_sampler(loader, data_seed)
    generator: torch.Generator | None = None
    if world > 1:
        loader, generator = _with_own_generator(loader)
        loader = _shard(loader, world, rank, split_batches, even_batches)
    target = torch.device(device) if put_on_device and device is not None else None
    loader = _without_useless_pinning(loader, target)
    if use_stateful_dataloader:
        loader = _as_stateful(loader)
    common: dict[str, Any] = {
        "base_dataloader": loader,
        "device": target,
        "use_stateful_dataloader": use_stateful_dataloader,
        "_drop_last": dataloader.drop_last,
        "_non_blocking": non_blocking,
    }
    if dispatch_batches:
        return DataLoaderDispatcher(
            loader.dataset, split_batches=split_batches, slice_fn=slice_fn_for_dispatch, **common
        )
    return DataLoaderShard(loader.dataset, rng_types=rng_types, synchronized_generator=generator, **common)


def _place(num_processes: int | None, process_index: int | None) -> tuple[int, int]:
    """Return the number of processes and this one's number; what the caller does not say, the process group does."""
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    world = num_processes or (torch.distributed.get_world_size() if group else 1)
    rank = process_index if process_index is not None else (torch.distributed.get_rank() if group else 0)
    if not 0 <= rank < world:
        raise ConfigError(
            f"prepare_data_loader got process_index={rank} with num_processes={world}.", "Processes count from 0."
        )
    return world, rank


def _check_options(world: int, dispatch: bool | None, put_on_device: bool, mesh: Any) -> None:
    if dispatch and not put_on_device:
        raise ConfigError(
            "dispatch_batches=True was given with put_on_device=False.",
            "Batches that are sent arrive on the device of the process.",
            "Pass put_on_device=True as well.",
        )
    if dispatch and world > 1:
        raise ConfigError(
            f"dispatch_batches=True was given with {world} processes.",
            "Sending batches from one process to others is not supported yet.",
            "Leave it out, and each process reads its own part.",
        )
    if mesh is not None and mesh.size() > 1:
        raise ConfigError(
            f"prepare_data_loader got a device mesh of {mesh.size()} devices.",
            "Loaders for meshes are not supported yet.",
            "Leave torch_device_mesh out.",
        )


def _with_seedable_sampler(loader: DataLoader[Any], seed: int | None) -> DataLoader[Any]:
    sampler = parts.get_sampler(loader)
    if not isinstance(sampler, RandomSampler) or isinstance(sampler, SeedableRandomSampler):
        return loader
    seedable = SeedableRandomSampler(
        sampler.data_source,
        sampler.replacement,
        sampler._num_samples,
        sampler.generator,
        data_seed=seed,
    )
    return parts.replace_sampler(loader, seedable)


def _with_own_generator(loader: DataLoader[Any]) -> tuple[DataLoader[Any], torch.Generator | None]:
    """Give a sampler that draws from torch's generator one of its own, which can be made equal in all processes."""
    sampler = parts.get_sampler(loader)
    generator = getattr(sampler, "generator", None)
    if isinstance(sampler, SeedableRandomSampler) or not hasattr(sampler, "generator"):
        return loader, generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        sampler = copy.copy(sampler)
        sampler.generator = generator
        loader = parts.replace_sampler(loader, sampler)
    return loader, generator


def _shard(loader: DataLoader[Any], world: int, rank: int, split_batches: bool, even_batches: bool) -> DataLoader[Any]:
    if isinstance(loader.dataset, IterableDataset):
        size = loader.batch_size or 1
        dataset = IterableDatasetShard(loader.dataset, size, loader.drop_last, world, rank, split_batches)
        share = size // world if split_batches else size
        batched: dict[str, Any] = {}
        if loader.batch_sampler is not None and share != size:
            batched = {"batch_size": share, parts.BATCH_SAMPLER: copy.copy(loader.batch_sampler)}
            batched[parts.BATCH_SAMPLER].batch_size = share
        return parts.replace(loader, dataset=dataset, **batched)
    name = parts.batches_from(loader)
    if name is None:
        raise ConfigError(
            f"The loader has batch_size=None, and its samples would be shared among {world} processes.",
            "Only batches can be shared.",
            "Give it a batch size or a batch sampler.",
        )
    source = getattr(loader, name)
    if split_batches:
        check_divisible(getattr(source, "batch_size", None), world)
    return parts.replace(loader, **{name: BatchSamplerShard(source, world, rank, split_batches, even_batches)})


def _without_useless_pinning(loader: DataLoader[Any], target: torch.device | None) -> DataLoader[Any]:
    """Return the loader without pinned memory where the target has no use for it: torch would warn in each epoch."""
    backend = registry.find(target.type) if target is not None else None
    if not loader.pin_memory or backend is None or backend.traits.pin_memory:
        return loader
    _log.debug("pin_memory is left out: copies to %s do not get faster by it", target)
    return parts.replace(loader, pin_memory=False)


def _as_stateful(loader: DataLoader[Any]) -> DataLoader[Any]:
    kind = stateful_loader_class()
    if isinstance(loader, kind):
        return loader
    if parts.iterates_itself(loader):
        raise ConfigError(
            f"use_stateful_dataloader is set, but {type(loader).__name__} has an __iter__ of its own.",
            "It would be lost.",
            "Derive the class from torchdata's StatefulDataLoader, or leave the option out.",
        )
    same = (
        "num_workers",
        "collate_fn",
        "pin_memory",
        "timeout",
        "worker_init_fn",
        "multiprocessing_context",
        "generator",
        "prefetch_factor",
        "persistent_workers",
    )
    options: dict[str, Any] = {name: getattr(loader, name) for name in same}
    if isinstance(loader.dataset, IterableDataset) or loader.batch_sampler is None:
        options |= {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
        if not isinstance(loader.dataset, IterableDataset):
            options["sampler"] = loader.sampler
    else:
        options["batch_sampler"] = loader.batch_sampler
    return kind(loader.dataset, **options)
