"""What processes can do together. `Alone` is a world of one process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import torch

from accelerate.distributed.nested import Nested, recursively_apply
from accelerate.errors import ConfigError

Reduction = Literal["sum", "mean", "none"]


class Collectives(ABC):
    """Exchange between the processes of a run, over nested structures of tensors.

    Collective: all ranks must make each call, in the same order, with structures of the same form.
    """

    @abstractmethod
    def gather(self, tensor: Nested) -> Nested:
        """Return the structure with the tensors of all ranks joined along their first dimension, in rank order."""

    @abstractmethod
    def gather_object(self, obj: Any) -> Any:
        """Return the objects of all ranks in one list, in rank order; lists are joined."""

    @abstractmethod
    def reduce(self, tensor: Nested, reduction: Reduction = "mean", scale: float = 1.0) -> Nested:
        """Return a new structure with the sum or mean over all ranks, times `scale`, of each tensor."""

    @abstractmethod
    def broadcast(self, tensor: Nested, from_process: int = 0) -> Nested:
        """Return rank `from_process`'s structure on every rank."""

    @abstractmethod
    def broadcast_object_list(self, object_list: list[Any], from_process: int = 0) -> list[Any]:
        """Replace the items of `object_list` in place by rank `from_process`'s, and return it."""

    @abstractmethod
    def pad_across_processes(self, tensor: Nested, dim: int = 0, pad_index: int = 0, pad_first: bool = False) -> Nested:
        """Return the structure with each tensor filled up with `pad_index` to the longest of all ranks along `dim`."""

    @abstractmethod
    def barrier(self) -> None:
        """Return when every rank has called."""


class Alone(Collectives):
    """A world of one process: what would be exchanged comes back as it is, and nobody is waited for."""

    def gather(self, tensor: Nested) -> Nested:
        """See `Collectives`."""
        return tensor

    def gather_object(self, obj: Any) -> Any:
        """See `Collectives`."""
        return obj

    def reduce(self, tensor: Nested, reduction: Reduction = "mean", scale: float = 1.0) -> Nested:
        """See `Collectives`; copies, as callers may change the result in place."""
        check_reduction(reduction)
        return recursively_apply(_scaled_copy(scale), tensor, error_on_other_type=True)

    def broadcast(self, tensor: Nested, from_process: int = 0) -> Nested:
        """See `Collectives`."""
        del from_process
        return tensor

    def broadcast_object_list(self, object_list: list[Any], from_process: int = 0) -> list[Any]:
        """See `Collectives`."""
        del from_process
        return object_list

    def pad_across_processes(self, tensor: Nested, dim: int = 0, pad_index: int = 0, pad_first: bool = False) -> Nested:
        """See `Collectives`."""
        del dim, pad_index, pad_first
        return tensor

    def barrier(self) -> None:
        """See `Collectives`."""


def check_reduction(reduction: str) -> None:
    """Raise a ConfigError when `reduction` is not the name of one."""
    if reduction not in ("sum", "mean", "none"):
        raise ConfigError(f"reduction is {reduction!r}.", "Allowed are 'sum', 'mean' and 'none'.")


def _scaled_copy(scale: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: tensor.clone() if scale == 1.0 else tensor * scale
