"""A device kind for tests: its tensors live on the CPU, its traits are whatever the test wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from accelerate.devices import registry
from accelerate.devices.base import Availability, DeviceBackend, Memory, Traits


class FakeBackend(DeviceBackend):
    """Records what is asked of it.

    Args:
        kind: Its name; `claim` gives the CPU whatever the name.
        traits: What it can do; None: nothing special.
        why_not: The reason for which it is not available; empty: it is.
    """

    def __init__(self, kind: str = "fake", traits: Traits | None = None, why_not: str = "") -> None:
        self.kind = kind
        self._traits = traits or Traits(kind=kind, collective="gloo")
        self.why_not = why_not
        self.cache_freed = 0
        self.generator = torch.zeros(4, dtype=torch.uint8)

    @property
    def traits(self) -> Traits:
        return self._traits

    def available(self) -> Availability:
        return Availability(not self.why_not, self.why_not or "the test has added it")

    def count(self) -> int:
        return 1

    def claim(self, local_rank: int) -> torch.device:
        return torch.device("cpu")

    def synchronize(self) -> None:
        pass

    def free_cache(self) -> None:
        self.cache_freed += 1

    def memory(self) -> Memory:
        return Memory(allocated_bytes=1, reserved_bytes=2, limit_bytes=3)

    def rng_state(self) -> list[torch.Tensor]:
        return [self.generator.clone()]

    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        self.generator = states[0].clone()

    def out_of_memory(self, error: BaseException) -> bool:
        return "fake memory" in str(error)

    def hint(self, error: BaseException) -> str | None:
        return "fake advice" if isinstance(error, NotImplementedError) else None


@contextmanager
def registered(backend: DeviceBackend) -> Iterator[DeviceBackend]:
    """Let `backend` be the preferred device kind inside the block."""
    replaced = registry.register(backend)
    try:
        yield backend
    finally:
        registry.unregister(backend.kind)
        if replaced is not None:
            registry.register(replaced)
