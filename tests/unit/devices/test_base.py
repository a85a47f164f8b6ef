from __future__ import annotations

import logging
from typing import ClassVar

import pytest
import torch

from accelerate import log
from accelerate.devices.base import Traits
from fake_device import FakeBackend


class Spy(torch.Tensor):
    """A tensor that notes how it was asked to move."""

    moves: ClassVar[list[bool]]

    def to(self, *args: object, **kwargs: object) -> torch.Tensor:  # pyrefly: ignore
        type(self).moves.append(bool(kwargs.get("non_blocking", False)))
        return self


@pytest.mark.parametrize(("async_copy", "expected"), [(True, True), (False, False)])
def test_a_copy_overlaps_only_where_that_is_safe(async_copy: bool, expected: bool) -> None:
    Spy.moves = []
    backend = FakeBackend(traits=Traits(kind="fake", collective="gloo", async_copy=async_copy))
    backend.move(torch.ones(2).as_subclass(Spy), torch.device("cpu"), non_blocking=True)
    assert Spy.moves == [expected]


@pytest.mark.parametrize(
    ("given", "there"),
    [
        (torch.float64, torch.float32),
        (torch.complex128, torch.complex64),
        (torch.float16, torch.float16),
        (torch.int64, torch.int64),
        (torch.bool, torch.bool),
    ],
)
def test_what_a_device_lacks_becomes_narrower_and_all_else_stays(given: torch.dtype, there: torch.dtype) -> None:
    backend = FakeBackend(traits=Traits(kind="fake", collective="gloo", float64=False))
    moved = backend.move(torch.ones(3).to(given), torch.device("cpu"))
    assert moved.dtype == there
    assert torch.equal(moved, torch.ones(3).to(there))


def test_narrowing_warns_once_for_a_dtype(caplog: pytest.LogCaptureFixture) -> None:
    log.warn_once.cache_clear()
    backend = FakeBackend(traits=Traits(kind="fake", collective="gloo", float64=False))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            backend.narrow(torch.ones(1, dtype=torch.float64))
    assert [record.message for record in caplog.records] == [
        "fake has no torch.float64: such tensors become torch.float32 on their way to the device. "
        "Build them as torch.float32 to silence this."
    ]


def test_a_device_that_has_float64_keeps_it() -> None:
    tensor = torch.ones(1, dtype=torch.float64)
    assert FakeBackend().narrow(tensor) is tensor


def test_a_device_kind_gives_no_advice_of_its_own() -> None:
    assert super(FakeBackend, FakeBackend()).hint(NotImplementedError()) is None
