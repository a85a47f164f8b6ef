from __future__ import annotations

import pytest
import torch

from accelerate.devices import registry
from accelerate.errors import DeviceError
from fake_device import FakeBackend, registered


def test_a_present_device_is_preferred_to_the_cpu_and_says_why() -> None:
    with registered(FakeBackend()) as backend:
        chosen = registry.choose()
    assert chosen.backend is backend
    assert chosen.why == "the test has added it"


def test_asking_for_the_cpu_passes_over_every_other_device() -> None:
    with registered(FakeBackend()):
        chosen = registry.choose(cpu=True)
    assert chosen.backend.kind == "cpu"
    assert chosen.why == "the CPU was asked for"


def test_without_a_device_the_cpu_is_chosen_and_the_reasons_against_the_others_are_given() -> None:
    with registered(FakeBackend(why_not="its plug is out")):
        chosen = registry.choose()
        assert "fake" not in [backend.kind for backend in registry.present()]
    if chosen.backend.kind == "cpu":
        assert "its plug is out" in chosen.why


def test_the_cpu_is_always_present_and_last() -> None:
    assert registry.present()[-1].kind == "cpu"
    assert registry.kinds()[-1] == "cpu"


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DeviceError, match=r"'abacus'.*cuda, mps, cpu"):
        registry.get("abacus")
    assert registry.find("meta") is None


def test_registering_again_replaces_and_returns_the_old_one() -> None:
    with registered(FakeBackend()) as first:
        second = FakeBackend()
        assert registry.register(second) is first
        assert registry.get("fake") is second


@pytest.mark.parametrize("kind", ["cuda", "mps", "cpu"])
def test_every_kind_answers_for_itself_on_a_machine_without_it(kind: str) -> None:
    backend = registry.get(kind)
    found = backend.available()
    assert found.why
    assert backend.traits.kind == kind
    if kind == "mps" and not torch.backends.mps.is_built():
        assert not found.available
        assert "without MPS" in found.why
        assert backend.count() == 0
