"""The GPU of an Apple silicon Mac, through `torch.mps`.

What is stated here about Macs was read in PyTorch's macOS wheel (2.14.1) and in PyTorch's issues; see docs/mac.md.
"""

from __future__ import annotations

import torch
from packaging.version import Version

from accelerate.devices.base import Availability, DeviceBackend, Memory, Traits

_OUT_OF_MEMORY_TEXTS = ("MPS backend out of memory", "Invalid buffer size:")
_FALLBACK_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"
# Before this release GradScaler computed the inverse scale in float64, which MPS lacks (pytorch/pytorch#142397).
_SCALER_SINCE = Version("2.8")


class MpsBackend(DeviceBackend):
    """The one GPU of an Apple silicon Mac."""

    kind = "mps"

    @property
    def traits(self) -> Traits:
        """See `DeviceBackend`."""
        return Traits(
            kind="mps",
            collective="staged",
            autocast_dtypes=frozenset({torch.float16, torch.bfloat16}),
            scaler=Version(torch.__version__).release >= _SCALER_SINCE.release,
            float64=False,
            fallback_env=_FALLBACK_VARIABLE,
            rng_key="torch_mps_manual_seed",
        )

    def available(self) -> Availability:
        """See `DeviceBackend`."""
        if torch.backends.mps.is_available():
            return Availability(True, f"torch {torch.__version__} finds the Apple GPU")
        if not torch.backends.mps.is_built():
            return Availability(False, f"torch {torch.__version__} is built without MPS")
        return Availability(False, f"torch {torch.__version__} has MPS, but this machine offers no GPU to it")

    def count(self) -> int:
        """See `DeviceBackend`; a Mac has one."""
        return int(torch.backends.mps.is_available())

    def claim(self, local_rank: int) -> torch.device:
        """See `DeviceBackend`; all local ranks share the one GPU."""
        del local_rank
        return torch.device("mps")

    def synchronize(self) -> None:
        """See `DeviceBackend`."""
        torch.mps.synchronize()

    def free_cache(self) -> None:
        """See `DeviceBackend`."""
        torch.mps.empty_cache()

    def memory(self) -> Memory:
        """See `DeviceBackend`; the limit is the working set that Metal recommends."""
        return Memory(
            allocated_bytes=torch.mps.current_allocated_memory(),
            reserved_bytes=torch.mps.driver_allocated_memory(),
            limit_bytes=torch.mps.recommended_max_memory(),
        )

    def rng_state(self) -> list[torch.Tensor]:
        """See `DeviceBackend`."""
        return [torch.mps.get_rng_state()]

    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        """See `DeviceBackend`."""
        if states:
            torch.mps.set_rng_state(states[0])

    def out_of_memory(self, error: BaseException) -> bool:
        """See `DeviceBackend`; torch raises a plain RuntimeError on MPS, so only the text tells."""
        return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY_TEXTS)

    def hint(self, error: BaseException) -> str | None:
        """Name the launcher's flag when an operator has no MPS kernel.

        The variable named in torch's own text works only when it is set before torch starts, which the launcher does.
        """
        if not isinstance(error, NotImplementedError) or _FALLBACK_VARIABLE not in str(error):
            return None
        return (
            "accelerate: the installed torch cannot run this operator on the Apple GPU; "
            "`accelerate launch --mps_fallback ...` lets the CPU run such operators (slower)."
        )
