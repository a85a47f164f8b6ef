"""Questions about devices are answered by the registry."""

from __future__ import annotations

import pytest
import torch

from accelerate.devices import registry, support
from accelerate.devices.base import Availability, Traits
from accelerate.devices.mps import MpsBackend


class _FakeMps(MpsBackend):
    @property
    def traits(self) -> Traits:
        return Traits(kind="mps", collective="staged", autocast_dtypes=frozenset({torch.float16}))

    def available(self) -> Availability:
        return Availability(True, "a test says so")


@pytest.fixture
def _mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_backends", {})
    registry.register(_FakeMps())


@pytest.mark.usefixtures("_mac")
def test_on_a_mac() -> None:
    assert support.is_mps_available()
    assert not support.is_mps_available(min_version="999.0")
    assert support.is_fp16_available()
    assert not support.is_bf16_available()


def test_answers_agree_with_the_device_that_a_run_would_use() -> None:
    dtypes = registry.choose().backend.traits.autocast_dtypes
    assert support.is_fp16_available() is (torch.float16 in dtypes)
    assert support.is_bf16_available(ignore_tpu=True) is (torch.bfloat16 in dtypes)
    assert support.is_cuda_available() is torch.cuda.is_available()
    assert support.is_rocm_available() is (torch.cuda.is_available() and torch.version.hip is not None)
