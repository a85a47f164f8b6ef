from __future__ import annotations

import gc
import logging
import weakref
from typing import Any

import pytest

from accelerate.memory import (
    clear_device_cache,
    find_executable_batch_size,
    release_memory,
    should_reduce_batch_size,
)
from fake_device import FakeBackend, registered

OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 2.00 GiB"


class Big:
    """Memory that a reference cycle holds."""

    def __init__(self) -> None:
        self.me = self


def test_the_cache_of_the_current_device_is_freed() -> None:
    with registered(FakeBackend()) as backend:
        assert isinstance(backend, FakeBackend)
        clear_device_cache()
        assert release_memory(1, 2) == [None, None]
        assert backend.cache_freed == 2


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError(OUT_OF_MEMORY), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9.00 GB"), True),
        (RuntimeError("Invalid buffer size: 96.00 GB"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("shape mismatch"), False),
    ],
)
def test_every_device_kind_is_asked_whether_memory_ran_out(error: Exception, expected: bool) -> None:
    assert should_reduce_batch_size(error) is expected


def test_the_batch_shrinks_until_it_fits(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[int] = []

    @find_executable_batch_size(starting_batch_size=64)
    def train(batch_size: int, offset: int, scale: int = 1) -> int:
        tried.append(batch_size)
        if batch_size > 8:
            raise RuntimeError(OUT_OF_MEMORY)
        return batch_size * scale + offset

    with caplog.at_level(logging.INFO):
        assert train(1, scale=10) == 81
    assert tried == [64, 57, 51, 45, 40, 36, 32, 28, 25, 22, 19, 17, 15, 13, 11, 9, 8]
    assert caplog.records[0].getMessage() == "No memory for batch size 64, trying 57."


def test_the_next_size_can_be_ones_own() -> None:
    sizes = iter([5, 3])

    @find_executable_batch_size(starting_batch_size=8, reduce_batch_size_fn=lambda: next(sizes))
    def train(batch_size: int) -> int:
        if batch_size > 3:
            raise RuntimeError(OUT_OF_MEMORY)
        return batch_size

    assert train() == 3


def test_what_a_failed_attempt_allocated_is_gone_before_the_next() -> None:
    alive: list[int] = []
    seen: list[weakref.ref[Big]] = []

    @find_executable_batch_size(starting_batch_size=8)
    def train(batch_size: int) -> int:
        alive.append(sum(reference() is not None for reference in seen))
        big = Big()
        seen.append(weakref.ref(big))
        if batch_size > 4:
            raise RuntimeError(OUT_OF_MEMORY)
        return batch_size

    gc.disable()
    try:
        train()
    finally:
        gc.enable()
    assert len(alive) > 2
    assert not any(alive)


def test_other_errors_come_through() -> None:
    @find_executable_batch_size
    def train(batch_size: int) -> None:
        raise ValueError(f"not about memory, {batch_size}")

    with pytest.raises(ValueError, match="not about memory, 128"):
        train()


def test_when_nothing_fits_that_is_said() -> None:
    def train(batch_size: int) -> None:
        raise RuntimeError(OUT_OF_MEMORY)

    with pytest.raises(RuntimeError, match=r"No executable batch size found.*began at 2"):
        find_executable_batch_size(train, starting_batch_size=2)()


def test_passing_the_batch_size_is_explained() -> None:
    @find_executable_batch_size(starting_batch_size=2)
    def train(batch_size: int, model: Any) -> None: ...

    with pytest.raises(TypeError, match=r"train was called with 2 arguments.*Call it as train\(model='net'\)"):
        train(2, "net")
