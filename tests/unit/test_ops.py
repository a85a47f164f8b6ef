from __future__ import annotations

import torch

from accelerate import ops, runtime
from accelerate.distributed.collectives import Alone


class Recording(Alone):
    """Notes which calls reach the current run."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("_") and name != "calls":
            self.calls.append(name)
        return super().__getattribute__(name)


def test_every_function_asks_the_current_run() -> None:
    collectives = Recording()
    runtime.start()
    runtime.change(collectives=collectives)
    tensor = torch.ones(2)
    assert ops.gather(tensor) is tensor
    assert ops.gather_object([1]) == [1]
    assert ops.reduce(tensor, "sum", 2.0).tolist() == [2.0, 2.0]
    assert ops.broadcast(tensor) is tensor
    assert ops.broadcast_object_list([1]) == [1]
    assert ops.pad_across_processes(tensor) is tensor
    ops.wait_for_everyone()
    assert collectives.calls == [
        "gather",
        "gather_object",
        "reduce",
        "broadcast",
        "broadcast_object_list",
        "pad_across_processes",
        "barrier",
    ]
