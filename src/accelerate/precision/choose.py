"""From the name of a mixed precision to the object that does it."""

from __future__ import annotations

import torch

from accelerate.devices.base import Traits
from accelerate.errors import ConfigError, DeviceError
from accelerate.plugins.handlers import AutocastKwargs, GradScalerKwargs
from accelerate.precision.amp import Amp
from accelerate.precision.base import Precision
from accelerate.precision.full import FULL

_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
MODES = ("no", *_DTYPES)


def choose(
    mode: str,
    traits: Traits,
    autocast: AutocastKwargs | None = None,
    scaler: GradScalerKwargs | None = None,
    came_from: str = "",
) -> Precision:
    """Return the precision named `mode` for a device with `traits`.

    Args:
        mode: `no`, `fp16` or `bf16`.
        traits: The device's.
        autocast: Options of forward passes.
        scaler: Options of the gradient scaler of fp16.
        came_from: Where `mode` was set, for the error.

    Raises:
        ConfigError: There is no such mode.
        DeviceError: The device lacks it.
    """
    origin = f" (from {came_from})" if came_from else ""
    if mode == "no":
        return FULL
    if mode == "fp8":
        raise DeviceError(
            f"mixed_precision is 'fp8'{origin}, but fp8 needs an engine that this version does not drive.",
            fix="Use bf16.",
        )
    if mode not in _DTYPES:
        raise ConfigError(f"mixed_precision is {mode!r}{origin}.", f"Allowed are {', '.join(MODES)}.")
    dtype = _DTYPES[mode]
    if dtype not in traits.autocast_dtypes:
        offered = [name for name, other in _DTYPES.items() if other in traits.autocast_dtypes]
        raise DeviceError(
            f"mixed_precision is {mode!r}{origin}, but {traits.kind} has no {mode} autocast.",
            fix=f"Use {' or '.join([*offered, 'no'])}.",
        )
    if mode == "fp16" and not traits.scaler:
        raise DeviceError(
            f"mixed_precision is 'fp16'{origin}, but the gradient scaler of torch {torch.__version__} does not work "
            f"on {traits.kind}.",
            fix="Use bf16, or torch 2.8 or newer.",
        )
    scaler_options = (scaler or GradScalerKwargs()) if mode == "fp16" else None
    return Amp(mode, traits.kind, dtype, autocast or AutocastKwargs(), scaler_options)
