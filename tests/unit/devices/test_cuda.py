from __future__ import annotations

import pytest
import torch

from accelerate.devices.cuda import CudaBackend

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (torch.OutOfMemoryError("anything"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED."), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("CUDA out of memory."), False),
    ],
)
def test_out_of_memory_is_told_by_type_and_text(error: Exception, expected: bool) -> None:
    assert CudaBackend().out_of_memory(error) is expected


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_absence_is_explained() -> None:
    found = CudaBackend().available()
    assert not found.available
    assert f"torch {torch.__version__}" in found.why


@needs_cuda
def test_a_gpu_is_claimed_measured_and_keeps_its_generator() -> None:
    backend = CudaBackend()
    assert backend.available().available
    device = backend.claim(0)
    assert device == torch.device("cuda", 0)
    state = backend.rng_state()
    first = torch.rand(4, device=device)
    backend.set_rng_state(state)
    assert torch.equal(torch.rand(4, device=device), first)
    memory = backend.memory()
    assert memory.limit_bytes is not None
    assert 0 < memory.allocated_bytes <= memory.reserved_bytes <= memory.limit_bytes
    backend.synchronize()
    backend.free_cache()
