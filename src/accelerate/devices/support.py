"""Questions that programs ask about the devices of this machine, answered by the registry."""

from __future__ import annotations

import torch

from accelerate.devices import registry
from accelerate.machine.packages import is_torch_version


def is_cuda_available() -> bool:
    """Whether torch can use an NVIDIA or AMD GPU here."""
    return registry.get("cuda").available().available


def is_rocm_available() -> bool:
    """Whether torch can use an AMD GPU here."""
    return torch.version.hip is not None and is_cuda_available()


def is_mps_available(min_version: str = "1.12") -> bool:
    """Whether torch can use the Apple GPU here, and is at least of `min_version`."""
    return is_torch_version(">=", min_version) and registry.get("mps").available().available


def is_fp16_available() -> bool:
    """Whether `mixed_precision="fp16"` works on the device that a run would use here."""
    return torch.float16 in registry.choose().backend.traits.autocast_dtypes


def is_bf16_available(ignore_tpu: bool = False) -> bool:
    """Whether `mixed_precision="bf16"` works on the device that a run would use here.

    Args:
        ignore_tpu: Accepted for old programs; no TPU is driven.
    """
    del ignore_tpu
    return torch.bfloat16 in registry.choose().backend.traits.autocast_dtypes
