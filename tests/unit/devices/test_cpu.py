from __future__ import annotations

import psutil
import pytest
import torch

from accelerate.devices.cpu import CpuBackend


def test_all_local_ranks_share_the_cpu() -> None:
    assert CpuBackend().claim(3) == torch.device("cpu")


def test_memory_is_that_of_the_process_and_the_limit_that_of_the_machine() -> None:
    memory = CpuBackend().memory()
    assert memory.limit_bytes == psutil.virtual_memory().total
    assert 0 < memory.allocated_bytes < memory.limit_bytes


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("DefaultCPUAllocator: can't allocate memory"), False),
    ],
)
def test_out_of_memory_is_told_by_torchs_text(error: Exception, expected: bool) -> None:
    assert CpuBackend().out_of_memory(error) is expected


def test_the_hosts_generator_is_nobody_elses_to_store() -> None:
    backend = CpuBackend()
    before = torch.get_rng_state()
    assert backend.rng_state() == []
    backend.set_rng_state([])
    backend.synchronize()
    backend.free_cache()
    assert torch.equal(torch.get_rng_state(), before)
