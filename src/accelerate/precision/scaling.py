"""Steps of an optimizer under a gradient scaler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def unscale_once(scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer) -> None:
    """Divide the gradients of `optimizer` by the scale, in place, unless that was done since its last step."""
    stage = scaler._per_optimizer_states[id(optimizer)]["stage"]  # torch has no public way to ask
    if stage.name == "READY":
        scaler.unscale_(optimizer)


def scaled_step(
    scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer, closure: Callable[[], Any] | None = None
) -> bool:
    """Step `optimizer` unless its gradients hold infinities or NaN, and adapt the scale. Returns whether it stepped."""
    stepped = False

    def note(*_: Any) -> None:
        nonlocal stepped
        stepped = True

    # A fused optimizer is always called and skips inside its kernel; only the scale then tells.
    skips_inside = bool(getattr(optimizer, "_step_supports_amp_scaling", False))
    scale_before = scaler.get_scale() if skips_inside else 0.0
    handle = optimizer.register_step_post_hook(note)
    try:
        scaler.step(optimizer, **({} if closure is None else {"closure": closure}))
        scaler.update()
    finally:
        handle.remove()
    return stepped and not (skips_inside and scaler.get_scale() < scale_before)
