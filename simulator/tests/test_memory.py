from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch

from programs import python, simulated

MPS = torch.device("mps")
MIB = 1 << 20
RECOMMENDED = (16 << 30) * 2 // 3


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    gc.collect()
    torch.mps.empty_cache()
    yield
    torch.mps.set_per_process_memory_fraction(1.7)


def test_what_tensors_hold_is_counted() -> None:
    before = torch.mps.current_allocated_memory()
    tensor = torch.empty(1000, device=MPS)
    view, result = tensor[10:], tensor + 1
    assert torch.mps.current_allocated_memory() - before == 2 * 4096
    del tensor, result
    assert torch.mps.current_allocated_memory() - before == 4096
    del view
    assert torch.mps.current_allocated_memory() == before


def test_memory_that_an_operator_moves_is_counted() -> None:
    before = torch.mps.current_allocated_memory()
    out = torch.empty(0, device=MPS)
    torch.ones(1 << 18, device=MPS, out=out)
    assert torch.mps.current_allocated_memory() - before == MIB
    out.resize_(1 << 19)
    assert torch.mps.current_allocated_memory() - before == 2 * MIB
    del out
    assert torch.mps.current_allocated_memory() == before


def test_the_driver_holds_heaps_until_the_cache_is_emptied() -> None:
    before = torch.mps.driver_allocated_memory()
    tensors = [torch.empty(12 * MIB, dtype=torch.uint8, device=MPS) for _ in range(2)]
    assert torch.mps.driver_allocated_memory() - before == 1024 * MIB
    del tensors
    assert torch.mps.driver_allocated_memory() - before == 1024 * MIB
    torch.mps.empty_cache()
    assert torch.mps.driver_allocated_memory() == before


def test_the_peak_is_kept() -> None:
    torch.accelerator.reset_peak_memory_stats()
    before = torch.accelerator.memory_allocated()
    del_me = torch.empty(MIB, dtype=torch.uint8, device=MPS)
    del del_me
    assert torch.accelerator.memory_allocated() == before
    assert torch.accelerator.max_memory_allocated() - before == MIB
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == before
    assert torch.accelerator.memory_stats()["allocated_bytes.all.current"] == before
    free, total = torch.accelerator.get_memory_info()
    assert (total, free) == (RECOMMENDED, RECOMMENDED - torch.mps.driver_allocated_memory())


def test_the_limit_is_a_plain_runtime_error_with_the_text_of_a_mac() -> None:
    torch.mps.set_per_process_memory_fraction(0.1)
    kept = [torch.empty(256 * MIB, dtype=torch.uint8, device=MPS) for _ in range(4)]
    with pytest.raises(RuntimeError) as caught:
        torch.empty(256 * MIB, dtype=torch.uint8, device=MPS)
    del kept
    assert type(caught.value) is RuntimeError
    assert str(caught.value) == (
        "MPS backend out of memory (MPS allocated: 1024.00 MB, other allocations: 0 bytes, max allowed: 1.07 GB). "
        "Tried to allocate 256.00 MB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit "
        "for memory allocations (may cause system failure)."
    )
    assert torch.accelerator.memory_stats()["num_ooms"] >= 1


def test_results_of_operators_meet_the_limit_too() -> None:
    torch.mps.set_per_process_memory_fraction(0.1)
    tensor = torch.empty(400 * MIB, dtype=torch.uint8, device=MPS)
    second = tensor.clone()
    with pytest.raises(RuntimeError, match=r"^MPS backend out of memory"):
        torch.bitwise_not(second)
    del second
    assert torch.bitwise_not(tensor).device.type == "mps"


def test_memory_of_the_cache_is_given_back_before_the_limit_is_met() -> None:
    torch.mps.set_per_process_memory_fraction(0.1)
    for count in (900, 1, 950, 9):
        torch.empty(count * MIB, dtype=torch.uint8, device=MPS)


def test_no_limit() -> None:
    torch.mps.set_per_process_memory_fraction(0.1)
    torch.mps.set_per_process_memory_fraction(0.0)
    torch.empty(2048 * MIB, dtype=torch.uint8, device=MPS)


def test_a_buffer_larger_than_metal_makes() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(20 << 30, dtype=torch.uint8, device=MPS)
    assert type(caught.value) is RuntimeError
    assert str(caught.value) == "Invalid buffer size: 20.00 GB"


def test_the_fraction_is_checked() -> None:
    with pytest.raises(ValueError, match=r"Invalid fraction value: 3\.0"):
        torch.mps.set_per_process_memory_fraction(3.0)


@pytest.mark.parametrize(
    ("high", "low", "said"),
    [
        ("0.7", None, "invalid low watermark ratio 1.4"),
        ("2.5", None, "invalid high watermark ratio 2.5"),
        ("1.0", "1.1", "invalid low watermark ratio 1.1"),
        ("-1", "0", "invalid high watermark ratio -1"),
    ],
)
def test_variables_that_do_not_fit(high: str, low: str | None, said: str) -> None:
    env = {"MPS_SIMULATOR": "1", "PYTORCH_MPS_HIGH_WATERMARK_RATIO": high}
    done = python("-c", "import torch; torch.ones(1, device='mps')", env=env if low is None else {**env, LOW: low})
    assert done.returncode == 1
    assert f"RuntimeError: {said}" in done.stderr


LOW = "PYTORCH_MPS_LOW_WATERMARK_RATIO"


@pytest.mark.parametrize(("high", "low", "fits"), [("0.1", "0.0", False), ("0.0", "0.0", True), ("0.5", "0.5", True)])
def test_variables_set_the_limit(high: str, low: str, fits: bool) -> None:
    code = """
import torch
try:
    torch.empty(2 << 30, dtype=torch.uint8, device="mps")
    print(True)
except RuntimeError as error:
    print("out of memory" not in str(error))
"""
    assert simulated(code, env={"PYTORCH_MPS_HIGH_WATERMARK_RATIO": high, LOW: low}) == str(fits)
