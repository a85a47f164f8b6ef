"""Exchange between the processes of the current run, as plain functions. Collective: all ranks."""

from __future__ import annotations

from typing import Any

from accelerate.distributed.collectives import Reduction
from accelerate.distributed.nested import Nested
from accelerate.runtime import current


def gather(tensor: Nested) -> Nested:
    """Return the structure with the tensors of all ranks joined along their first dimension, in rank order."""
    return current().collectives.gather(tensor)


def gather_object(object: Any) -> Any:
    """Return the objects of all ranks in one list, in rank order; lists are joined."""
    return current().collectives.gather_object(object)


def reduce(tensor: Nested, reduction: Reduction = "mean", scale: float = 1.0) -> Nested:
    """Return a new structure with the sum or mean over all ranks, times `scale`, of each tensor."""
    return current().collectives.reduce(tensor, reduction, scale)


def broadcast(tensor: Nested, from_process: int = 0) -> Nested:
    """Return rank `from_process`'s structure on every rank."""
    return current().collectives.broadcast(tensor, from_process)


def broadcast_object_list(object_list: list[Any], from_process: int = 0) -> list[Any]:
    """Replace the items of `object_list` in place by rank `from_process`'s, and return it."""
    return current().collectives.broadcast_object_list(object_list, from_process)


def pad_across_processes(tensor: Nested, dim: int = 0, pad_index: int = 0, pad_first: bool = False) -> Nested:
    """Return the structure with each tensor filled up with `pad_index` to the longest of all ranks along `dim`."""
    return current().collectives.pad_across_processes(tensor, dim, pad_index, pad_first)


def wait_for_everyone() -> None:
    """Return when every process has called."""
    current().collectives.barrier()
