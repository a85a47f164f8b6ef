"""A device that is not there, with two generators."""

from __future__ import annotations

import torch

from accelerate.devices.base import Availability, DeviceBackend, Memory, Traits


class FakeDevice(DeviceBackend):
    """Device kind `fake`."""

    def __init__(self, key: str | None = "torch_fake_manual_seed") -> None:
        self.key = key
        self.states = [torch.arange(4, dtype=torch.uint8), torch.arange(4, 8, dtype=torch.uint8)]

    @property
    def traits(self) -> Traits:
        return Traits(kind="fake", collective="gloo", rng_key=self.key)

    def available(self) -> Availability:
        return Availability(True, "a fake is always there")

    def count(self) -> int:
        return len(self.states)

    def claim(self, local_rank: int) -> torch.device:
        return torch.device("cpu")

    def synchronize(self) -> None:
        pass

    def free_cache(self) -> None:
        pass

    def memory(self) -> Memory:
        return Memory(allocated_bytes=0, reserved_bytes=0, limit_bytes=None)

    def rng_state(self) -> list[torch.Tensor]:
        return [state.clone() for state in self.states]

    def set_rng_state(self, states: list[torch.Tensor]) -> None:
        if not all(state.dtype == torch.uint8 for state in states):
            raise RuntimeError("a generator's state is made of bytes")
        self.states = list(states)

    def out_of_memory(self, error: BaseException) -> bool:
        return False
