from __future__ import annotations

import pytest
import torch

from accelerate.devices import mps
from accelerate.devices.mps import MpsBackend

# The texts of torch's macOS wheel, 2.14.1.
MISSING_OPERATOR = (
    "The operator 'aten::linalg_eig' is not currently implemented for the MPS device. [...] As a temporary fix, "
    "you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op."
)
ALLOCATOR = (
    "MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 40.00 MB, max allowed: 9.07 GB). "
    "Tried to allocate 256.00 MB on private pool."
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError(ALLOCATOR), True),
        (RuntimeError("Invalid buffer size: 96.00 GB"), True),
        (RuntimeError("CUDA out of memory."), False),
        (MemoryError(ALLOCATOR), False),
    ],
)
def test_both_out_of_memory_texts_count(error: Exception, expected: bool) -> None:
    assert MpsBackend().out_of_memory(error) is expected


def test_a_missing_operator_is_followed_by_the_name_of_the_flag() -> None:
    hint = MpsBackend().hint(NotImplementedError(MISSING_OPERATOR))
    assert hint is not None
    assert "--mps_fallback" in hint
    assert "\n" not in hint


@pytest.mark.parametrize("error", [NotImplementedError("abstract"), RuntimeError(MISSING_OPERATOR), ValueError()])
def test_other_errors_get_no_advice(error: Exception) -> None:
    assert MpsBackend().hint(error) is None


@pytest.mark.parametrize(("version", "scaler"), [("2.7.1", False), ("2.8.0", True), ("2.14.1+cu130", True)])
def test_the_scaler_needs_torch_2_8(monkeypatch: pytest.MonkeyPatch, version: str, scaler: bool) -> None:
    monkeypatch.setattr(mps.torch, "__version__", version)
    assert MpsBackend().traits.scaler is scaler


def test_traits_are_those_of_an_apple_gpu() -> None:
    traits = MpsBackend().traits
    assert not traits.float64
    assert not traits.async_copy
    assert not traits.pin_memory
    assert traits.autocast_dtypes == {torch.float16, torch.bfloat16}
    assert traits.rng_key == "torch_mps_manual_seed"


def test_the_generator_goes_through_torch_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[torch.Tensor] = []
    state = torch.arange(44, dtype=torch.uint8)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: state)
    monkeypatch.setattr(torch.mps, "set_rng_state", set_to.append)
    backend = MpsBackend()
    backend.set_rng_state(backend.rng_state())
    backend.set_rng_state([])
    assert len(set_to) == 1
    assert torch.equal(set_to[0], state)
