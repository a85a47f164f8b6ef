"""The interface of a device kind, and the traits in which kinds differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import torch

from accelerate.log import warn_once

_NARROWER = {torch.float64: torch.float32, torch.complex128: torch.complex64}


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What a device kind can and cannot do: the data that the rest of the package decides by."""

    kind: str
    """The `torch.device` type, for instance `mps`."""
    collective: Literal["nccl", "gloo", "staged"]
    """How tensors on this device travel between processes."""
    autocast_dtypes: frozenset[torch.dtype] = field(default_factory=frozenset)
    scaler: bool = False
    """Whether `torch.amp.GradScaler` works on this device with the installed torch."""
    float64: bool = True
    pin_memory: bool = False
    """Whether a loader may copy from pinned host memory to this device."""
    async_copy: bool = False
    """Whether `non_blocking=True` is safe for a copy from pageable host memory."""
    visible_env: str | None = None
    """The environment variable that hides devices of this kind."""
    fallback_env: str | None = None
    """The variable that, set before torch starts, lets the CPU run operators that the kind lacks."""
    rng_key: str | None = None
    """The key of this kind's generator state in a checkpoint's random states; None: the host's generator serves."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a device kind can be used here, with the reason in words."""

    available: bool
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Memory of one device as its allocator sees it; None where the kind cannot tell."""

    allocated_bytes: int
    reserved_bytes: int
    limit_bytes: int | None


class DeviceBackend(ABC):
    """One kind of device. Methods are cheap and may be called before any tensor lives on the device."""

    kind: str
    """The `torch.device` type."""

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What this kind can do with the installed torch and the device at hand."""

    @abstractmethod
    def available(self) -> Availability:
        """Say whether a device of this kind can be used now, and why or why not."""

    @abstractmethod
    def count(self) -> int:
        """Return how many devices of this kind this process may use."""

    @abstractmethod
    def claim(self, local_rank: int) -> torch.device:
        """Return this process's device and make it torch's current one of this kind."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work queued on the device is done."""

    @abstractmethod
    def free_cache(self) -> None:
        """Give cached memory that no tensor uses back to the system."""

    @abstractmethod
    def memory(self) -> Memory:
        """Return what the allocator holds for this process's device."""

    @abstractmethod
    def rng_state(self) -> list[torch.Tensor]:
        """Return the generator states of this kind's devices: uint8 tensors on the CPU, one per device."""

    @abstractmethod
    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        """Set the generators of this kind's devices from what `rng_state` returned; extra states are ignored."""

    @abstractmethod
    def out_of_memory(self, error: BaseException) -> bool:
        """Say whether `error` means that this kind of device had no memory left."""

    def hint(self, error: BaseException) -> str | None:
        """Return one line of advice to print after the traceback of `error`, or None."""
        del error
        return None

    def narrow(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor` in a dtype that the kind has: float64 and complex128 become half as wide where it lacks them.

        Warns once a process when it changes a dtype.
        """
        narrower = None if self.traits.float64 else _NARROWER.get(tensor.dtype)
        if narrower is None:
            return tensor
        warn_once(
            "devices",
            f"{self.kind} has no {tensor.dtype}: such tensors become {narrower} on their way to the device. "
            f"Build them as {narrower} to silence this.",
        )
        return tensor.to(dtype=narrower)

    def move(self, tensor: torch.Tensor, device: torch.device, *, non_blocking: bool = False) -> torch.Tensor:
        """Return `tensor` on `device`, a device of this kind, in a dtype that it has.

        `non_blocking` is heeded only where it is safe: on MPS the source may be freed before the copy is made
        (pytorch/pytorch#189690), so the copy blocks there.
        """
        return self.narrow(tensor).to(device, non_blocking=non_blocking and self.traits.async_copy)
