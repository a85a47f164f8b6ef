"""Profilers are built as asked for."""

from __future__ import annotations

import pytest
import torch
from torch.profiler import ProfilerAction, ProfilerActivity

from accelerate.errors import ConfigError
from accelerate.plugins.profile import ProfileKwargs


@pytest.mark.filterwarnings("ignore:.*Profiler clears events")
def test_it_records_what_ran() -> None:
    with ProfileKwargs(activities=["cpu"], record_shapes=True).build() as profiler:
        torch.ones(3, 5) @ torch.ones(5, 7)
    events = profiler.events()
    assert events is not None
    shapes = [event.input_shapes for event in events if event.name == "aten::mm"]
    assert shapes == [[[3, 5], [5, 7]]]


def test_the_schedule_is_torchs() -> None:
    profiler = ProfileKwargs(schedule_option={"wait": 1, "warmup": 1, "active": 1}).build()
    assert [profiler.schedule(step) for step in range(2)] == [ProfilerAction.NONE, ProfilerAction.WARMUP]


def test_mps_degrades_to_the_cpu_and_says_so() -> None:
    with pytest.warns(UserWarning, match=r"Apple GPU.*torch\.mps\.profiler"):
        profiler = ProfileKwargs(activities=["mps"]).build()
    assert profiler.activities == {ProfilerActivity.CPU}


def test_an_unknown_activity_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'gpu'.*cpu"):
        ProfileKwargs(activities=["gpu"]).build()
