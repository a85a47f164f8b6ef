"""The interface of a precision."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from accelerate.plugins.handlers import AutocastKwargs


class Precision(ABC):
    """In which format a run computes, and what that means for forward, backward and step.

    A run makes one precision and asks it for `wrap_forward` once per prepared model, then for `scale` on each loss.
    Steps under its `scaler` are in `precision.scaling`.
    """

    mode: str
    """The name in the settings: `no`, `fp16` or `bf16`."""
    scaler: torch.amp.GradScaler | None = None
    """What scales the loss, where the format's range needs it; a checkpoint stores its state."""

    @abstractmethod
    def forward(self, options: AutocastKwargs | None = None) -> AbstractContextManager[Any]:
        """Return the context in which a forward pass and its loss are computed."""

    @abstractmethod
    def wrap_forward(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """Return `forward` as a prepared model calls it, in the format, with float32 outputs."""

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss that gradients are computed from."""
        return loss if self.scaler is None else self.scaler.scale(loss)


class PreparedForward:
    """A model's forward pass inside a precision's context, its half-precision outputs turned into float32.

    It can be copied and pickled with the model, which a closure could not.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        context: Callable[[], AbstractContextManager[Any]],
        convert: Callable[[Any], Any],
    ) -> None:
        self.forward, self.context, self.convert = forward, context, convert
        functools.update_wrapper(self, forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward pass."""
        with self.context():
            outputs = self.forward(*args, **kwargs)
        return self.convert(outputs)
