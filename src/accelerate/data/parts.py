"""The parts of a torch `DataLoader`, and how to exchange one.

Loaders are not built anew from their options: a subclass with an `__iter__` or arguments of its own, and attributes
that the program has set, would be lost. A shallow copy with the part exchanged keeps them.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from torch.utils.data import BatchSampler, DataLoader, Sampler

from accelerate.data.samplers import BatchSamplerShard, SkipBatchSampler
from accelerate.errors import ConfigError

Loader = DataLoader[Any]

BATCH_SAMPLER: Final = "batch_sampler"
SAMPLER: Final = "sampler"


def batches_from(loader: Loader) -> str | None:
    """Return which attribute of the loader holds its batches of indices; None when it works without such batches.

    With `batch_size=None`, `sampler` may be a batch sampler: each batch of indices is then one request to the dataset.
    """
    if loader.batch_sampler is not None:
        return BATCH_SAMPLER
    return SAMPLER if isinstance(loader.sampler, BatchSampler) else None


def batch_source(loader: Loader) -> Any:
    """Return the object that gives the loader's batches of indices, or None."""
    name = batches_from(loader)
    return None if name is None else getattr(loader, name)


def inner_batch_sampler(source: Any) -> Any:
    """Return the user's own batch sampler within those that share out or skip."""
    while isinstance(source, (BatchSamplerShard, SkipBatchSampler)):
        source = source.batch_sampler
    return source


def get_sampler(dataloader: Loader) -> Any:
    """Return what decides the order of the samples; None for a batch sampler that has no sampler."""
    name = batches_from(dataloader)
    if name is None:
        return dataloader.sampler
    return getattr(inner_batch_sampler(getattr(dataloader, name)), "sampler", None)


def replace(loader: Loader, **parts: Any) -> Loader:
    """Return a copy of the loader with other parts; the loader itself stays as it is, and shares the rest."""
    clone = copy.copy(loader)
    # Past `__setattr__`, which guards some parts of a finished loader. Workers that persist stay with the original.
    vars(clone).update(parts, _iterator=None)
    return clone


def replace_sampler(loader: Loader, sampler: Sampler[Any] | Any) -> Loader:
    """Return a copy of the loader that takes its order from `sampler`."""
    name = batches_from(loader)
    if name is None:
        return replace(loader, sampler=sampler)
    source = _exchange_sampler(getattr(loader, name), sampler)
    return replace(loader, **({SAMPLER: sampler} if name == BATCH_SAMPLER else {}), **{name: source})


def _exchange_sampler(source: Any, sampler: Any) -> Any:
    clone = copy.copy(source)
    if isinstance(source, (BatchSamplerShard, SkipBatchSampler)):
        clone.batch_sampler = _exchange_sampler(source.batch_sampler, sampler)
    else:
        clone.sampler = sampler
    return clone


def set_epoch(loader: Loader, epoch: int) -> None:
    """Tell the epoch to the loader's dataset, sampler and batch sampler, where they have a method `set_epoch`."""
    inner = inner_batch_sampler(batch_source(loader))
    concerned = (inner, getattr(inner, "sampler", None), loader.sampler, loader.dataset)
    for part in {id(part): part for part in concerned}.values():
        method = getattr(part, "set_epoch", None)
        if callable(method):
            method(epoch)


def iterates_itself(loader: Loader) -> bool:
    """Say whether the loader's class has its own `__iter__`, so that its batches need not be those of its sampler."""
    return type(loader).__iter__ is not DataLoader.__iter__


def check_is_loader(found: object, function: str) -> None:
    """Raise ConfigError unless `found` is a torch `DataLoader`."""
    if not isinstance(found, DataLoader):
        raise ConfigError(
            f"{function} got an object of type {type(found).__name__}.",
            "It takes a torch.utils.data.DataLoader or a subclass.",
            "Wrap the data in one.",
        )
