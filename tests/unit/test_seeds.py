from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from accelerate import runtime
from accelerate.errors import ConfigError
from accelerate.plugins.enums import RNGType
from accelerate.seeds import set_seed, synchronize_rng_state, synchronize_rng_states
from accelerate.topology import Topology
from fake_device import FakeBackend, registered


def _draw() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), torch.rand(()).item()


def test_the_same_seed_gives_the_same_numbers_everywhere() -> None:
    set_seed(3)
    first = _draw()
    set_seed(3)
    assert _draw() == first
    set_seed(4)
    assert all(one != other for one, other in zip(_draw(), first, strict=True))


def test_each_process_can_have_its_own_seed() -> None:
    runtime.start()
    runtime.change(topology=Topology(rank=2, world=3, local_rank=2, local_world=3))
    set_seed(3, device_specific=True)
    drawn = _draw()
    set_seed(5)
    assert _draw() == drawn


def test_deterministic_algorithms_are_asked_of_torch() -> None:
    try:
        set_seed(0, deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_one_process_keeps_its_generators() -> None:
    generator = torch.Generator().manual_seed(1)
    before, torch_before = generator.get_state(), torch.get_rng_state()
    with registered(FakeBackend()) as backend:
        states = backend.rng_state()
        synchronize_rng_states(["torch", RNGType.GENERATOR, "fake", "cuda"], generator)
        assert torch.equal(backend.rng_state()[0], states[0])
    synchronize_rng_state("generator")
    assert torch.equal(generator.get_state(), before)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_an_unknown_generator_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'abacus'.*torch, generator, .*cpu"):
        synchronize_rng_state("abacus")
