"""Automatic mixed precision: float32 weights, matrix products in a 16-bit format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from accelerate.distributed.nested import convert_to_fp32
from accelerate.plugins.handlers import AutocastKwargs, GradScalerKwargs
from accelerate.precision.base import Precision, PreparedForward


class Amp(Precision):
    """`torch.autocast` around forward passes, and a gradient scaler for float16.

    Args:
        mode: `fp16` or `bf16`.
        device_type: The kind of device that the model is on.
        dtype: The 16-bit format.
        options: Autocast options of forward passes of prepared models.
        scaler_options: Options of the gradient scaler; None makes none.
    """

    def __init__(
        self,
        mode: str,
        device_type: str,
        dtype: torch.dtype,
        options: AutocastKwargs,
        scaler_options: GradScalerKwargs | None = None,
    ) -> None:
        self.mode = mode
        self.device_type = device_type
        self.dtype = dtype
        self.options = options
        if scaler_options is not None:
            self.scaler = torch.amp.GradScaler(device_type, **scaler_options.to_kwargs())

    def forward(self, options: AutocastKwargs | None = None) -> AbstractContextManager[Any]:
        """See `Precision`."""
        return AutocastContext(self.device_type, self.dtype, options or self.options)()

    def wrap_forward(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """See `Precision`."""
        return PreparedForward(forward, AutocastContext(self.device_type, self.dtype, self.options), convert_to_fp32)


class AutocastContext:
    """Makes the autocast context of each forward pass; holds data only, so that models stay picklable."""

    def __init__(self, device_type: str, dtype: torch.dtype, options: AutocastKwargs) -> None:
        self.device_type, self.dtype, self.options = device_type, dtype, options

    def __call__(self) -> AbstractContextManager[Any]:
        """Return a new context."""
        return torch.autocast(
            self.device_type,
            dtype=self.dtype,
            enabled=self.options.enabled,
            cache_enabled=self.options.cache_enabled,
        )
