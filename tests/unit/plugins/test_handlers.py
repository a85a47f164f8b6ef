"""What the option classes pass on to torch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from accelerate.plugins.accumulation import GradientAccumulationPlugin
from accelerate.plugins.base import KwargsHandler
from accelerate.plugins.enums import DDPCommunicationHookType
from accelerate.plugins.handlers import (
    AutocastKwargs,
    DistributedDataParallelKwargs,
    GradScalerKwargs,
    InitProcessGroupKwargs,
)


@dataclass
class _Mock(KwargsHandler):
    a: int = 0
    b: bool = False
    c: float = 3.0


def test_only_what_differs_from_the_default_is_passed_on() -> None:
    assert _Mock().to_kwargs() == {}
    assert _Mock(a=2).to_kwargs() == {"a": 2}
    assert _Mock(a=2, b=True, c=2.25).to_kwargs() == {"a": 2, "b": True, "c": 2.25}


def test_to_dict_gives_copies() -> None:
    plugin = DistributedDataParallelKwargs(comm_state_option={"rank": 1})
    plugin.to_dict()["dim"] = 7
    assert plugin.dim == 0


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (AutocastKwargs(enabled=False), {"enabled": False}),
        (GradScalerKwargs(init_scale=2.0, growth_interval=5), {"init_scale": 2.0, "growth_interval": 5}),
        (
            GradientAccumulationPlugin(num_steps=4, sync_each_batch=True),
            {"num_steps": 4, "sync_each_batch": True},
        ),
    ],
)
def test_handlers(handler: KwargsHandler, expected: dict[str, object]) -> None:
    assert handler.to_kwargs() == expected


def test_ddp_keeps_the_communication_hook_to_itself() -> None:
    handler = DistributedDataParallelKwargs(bucket_cap_mb=3, comm_hook=DDPCommunicationHookType.FP16)
    assert handler.to_kwargs() == {"bucket_cap_mb": 3}


@pytest.mark.parametrize(("backend", "minutes"), [("nccl", 10), ("gloo", 30), (None, 30)])
def test_the_time_out_follows_the_backend(backend: str | None, minutes: int) -> None:
    assert InitProcessGroupKwargs(backend=backend).timeout == timedelta(minutes=minutes)


def test_a_time_out_that_was_given_stays() -> None:
    assert InitProcessGroupKwargs(timeout=timedelta(seconds=5)).to_kwargs() == {"timeout": timedelta(seconds=5)}
