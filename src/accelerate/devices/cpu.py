"""The CPU as a training device."""

from __future__ import annotations

import psutil
import torch

from accelerate.devices.base import Availability, DeviceBackend, Memory, Traits

_TRAITS = Traits(
    kind="cpu",
    collective="gloo",
    autocast_dtypes=frozenset({torch.bfloat16}),
    async_copy=True,
)


class CpuBackend(DeviceBackend):
    """The host's processor: always there, one device whatever the number of cores."""

    kind = "cpu"

    @property
    def traits(self) -> Traits:
        """See `DeviceBackend`."""
        return _TRAITS

    def available(self) -> Availability:
        """See `DeviceBackend`; always true."""
        return Availability(True, "every machine has a CPU")

    def count(self) -> int:
        """See `DeviceBackend`."""
        return 1

    def claim(self, local_rank: int) -> torch.device:
        """See `DeviceBackend`; all local ranks share the one device."""
        del local_rank
        return torch.device("cpu")

    def synchronize(self) -> None:
        """Do nothing: work on the CPU is done when the call returns."""

    def free_cache(self) -> None:
        """Do nothing: torch keeps no cache of host memory."""

    def memory(self) -> Memory:
        """Return the resident memory of this process, and the machine's memory as the limit."""
        resident = psutil.Process().memory_info().rss
        return Memory(allocated_bytes=resident, reserved_bytes=resident, limit_bytes=psutil.virtual_memory().total)

    def rng_state(self) -> list[torch.Tensor]:
        """Return nothing: the host's generator is stored on its own, whatever the device."""
        return []

    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        """Do nothing, as `rng_state` returns nothing."""

    def out_of_memory(self, error: BaseException) -> bool:
        """See `DeviceBackend`; torch raises a RuntimeError that it can be told by only from the text."""
        return isinstance(error, RuntimeError) and "DefaultCPUAllocator: can't allocate memory" in str(error)
