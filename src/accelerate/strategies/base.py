"""The interface of a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

from accelerate.distributed.collectives import Collectives
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DistributedType
from accelerate.precision.base import Precision


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a strategy works with; passed in, never looked up."""

    device: torch.device
    collectives: Collectives
    precision: Precision
    compile: TorchDynamoPlugin


class Strategy(ABC):
    """How models are spread over the processes of a run.

    A run calls in this order: `check` (raises before anything moves), `wrap` for each model, then for each batch
    `no_sync` around a forward and backward whose gradients stay local, `clip_norm` before a step; `unwrap` and
    `state_dict` at any time after `wrap`.
    """

    distributed_type: DistributedType
    """The name that the API gives to this kind of run."""

    @abstractmethod
    def check(self, model: torch.nn.Module, context: Context) -> None:
        """Raise when this strategy cannot run `model`; changes nothing."""

    @abstractmethod
    def wrap(self, model: torch.nn.Module, context: Context, *, place: bool, evaluation_only: bool) -> torch.nn.Module:
        """Return `model` ready to train, or to evaluate only. Changes it in place: device and forward.

        Args:
            model: The user's model.
            context: What to work with.
            place: Whether the model is moved to the device.
            evaluation_only: Whether it will never get gradients.
        """

    @abstractmethod
    def no_sync(self, model: torch.nn.Module) -> AbstractContextManager[Any]:
        """Return the context of a backward pass whose gradients are not exchanged yet."""

    @abstractmethod
    def clip_norm(self, parameters: Iterable[torch.Tensor], max_norm: float, norm_type: float) -> torch.Tensor:
        """Scale gradients down in place to a norm of `max_norm`; returns the norm before. Collective: all ranks."""

    @abstractmethod
    def unwrap(self, model: torch.nn.Module) -> torch.nn.Module:
        """Return the module inside what `wrap` returned, without what the strategy has put around it."""

    @abstractmethod
    def state_dict(self, model: torch.nn.Module) -> dict[str, Any]:
        """Return the whole model's state, keys as in the user's model. Collective: all ranks."""
