from __future__ import annotations

import logging
import random

import numpy as np
import pytest
import torch

from accelerate.checkpoint import rng
from accelerate.errors import CheckpointError
from checkpoint_fakes import FakeDevice


def draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(1))


def test_names_are_those_of_the_api() -> None:
    assert list(rng.capture([FakeDevice("torch_mps_manual_seed")])) == [
        "random_state",
        "numpy_random_seed",
        "torch_manual_seed",
        "torch_mps_manual_seed",
    ]


def test_every_generator_goes_on_from_where_it_was() -> None:
    device = FakeDevice()
    states = rng.capture([device])
    before = draws(), device.rng_state()
    device.set_rng_state([torch.zeros(4, dtype=torch.uint8)] * 2)
    rng.restore(states, [device])
    after = draws(), device.rng_state()
    assert before[0] == after[0]
    assert all(torch.equal(left, right) for left, right in zip(before[1], after[1], strict=True))


def test_a_device_without_its_own_generator_stores_nothing() -> None:
    assert len(rng.capture([FakeDevice(None)])) == 3


def test_devices_that_are_not_here_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    states = rng.capture([]) | {"torch_cuda_manual_seed": [torch.arange(16, dtype=torch.uint8)] * 2}
    before = draws()
    with caplog.at_level(logging.WARNING):
        rng.restore(states, [])
    assert draws() == before
    assert caplog.text == ""


def test_a_device_that_the_checkpoint_lacks_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice()
    with caplog.at_level(logging.WARNING):
        rng.restore(rng.capture([]), [device])
    assert "no torch_fake_manual_seed" in caplog.text
    assert len(device.states) == 2


def test_one_state_may_stand_without_a_list() -> None:
    device = FakeDevice()
    rng.restore(rng.capture([]) | {"torch_fake_manual_seed": torch.arange(3, dtype=torch.uint8)}, [device])
    assert [state.tolist() for state in device.states] == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("random_state", "nonsense"),
        ("random_state", (3, (1, 2), None)),
        ("numpy_random_seed", ("MT19937", [1])),
        ("torch_manual_seed", torch.zeros(3, dtype=torch.uint8)),
        ("torch_manual_seed", None),
        ("torch_fake_manual_seed", [torch.zeros(3)]),
    ],
)
def test_a_state_that_is_none_is_named(key: str, state: object) -> None:
    device = FakeDevice()
    states = rng.capture([device])
    with pytest.raises(CheckpointError, match=f"The random state {key} in the checkpoint cannot be used"):
        rng.restore(states | {key: state}, [device])
    rng.restore(states, [device])
