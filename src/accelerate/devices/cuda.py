"""NVIDIA and AMD GPUs, through `torch.cuda`."""

from __future__ import annotations

import torch

from accelerate.devices.base import Availability, DeviceBackend, Memory, Traits

_OUT_OF_MEMORY_TEXTS = (
    "CUDA out of memory.",
    "CUDA error: out of memory",
    "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.",
)


class CudaBackend(DeviceBackend):
    """GPUs that torch drives through CUDA or ROCm."""

    kind = "cuda"

    @property
    def traits(self) -> Traits:
        """See `DeviceBackend`; bf16 is asked of the current GPU."""
        bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        return Traits(
            kind="cuda",
            collective="nccl",
            autocast_dtypes=frozenset({torch.float16, torch.bfloat16} if bf16 else {torch.float16}),
            scaler=True,
            pin_memory=True,
            async_copy=True,
            visible_env="CUDA_VISIBLE_DEVICES",
            rng_key="torch_cuda_manual_seed",
        )

    def available(self) -> Availability:
        """See `DeviceBackend`."""
        if torch.cuda.is_available():
            return Availability(True, f"torch {torch.__version__} finds {torch.cuda.device_count()} CUDA device(s)")
        if torch.version.cuda is None and torch.version.hip is None:
            return Availability(False, f"torch {torch.__version__} is built without CUDA")
        return Availability(False, f"torch {torch.__version__} finds no CUDA device")

    def count(self) -> int:
        """See `DeviceBackend`."""
        return torch.cuda.device_count()

    def claim(self, local_rank: int) -> torch.device:
        """See `DeviceBackend`; local rank n takes GPU n."""
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        return device

    def synchronize(self) -> None:
        """See `DeviceBackend`."""
        torch.cuda.synchronize()

    def free_cache(self) -> None:
        """See `DeviceBackend`."""
        torch.cuda.empty_cache()

    def memory(self) -> Memory:
        """See `DeviceBackend`."""
        _, total = torch.cuda.mem_get_info()
        return Memory(
            allocated_bytes=torch.cuda.memory_allocated(),
            reserved_bytes=torch.cuda.memory_reserved(),
            limit_bytes=total,
        )

    def rng_state(self) -> list[torch.Tensor]:
        """See `DeviceBackend`; every visible GPU's state, as checkpoints have always held."""
        return torch.cuda.get_rng_state_all()

    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        """See `DeviceBackend`."""
        for index, state in enumerate(states[: self.count()]):
            torch.cuda.set_rng_state(state, index)

    def out_of_memory(self, error: BaseException) -> bool:
        """See `DeviceBackend`."""
        if isinstance(error, torch.OutOfMemoryError):
            return True
        return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY_TEXTS)
