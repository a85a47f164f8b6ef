from __future__ import annotations

import sys

import pytest
import torch

from accelerate import runtime
from accelerate.devices.base import Traits
from accelerate.errors import DeviceError, LaunchError
from accelerate.launch import environment
from accelerate.plugins.enums import DistributedType
from accelerate.settings.sources import Kind
from fake_device import FakeBackend, registered


def test_a_run_is_decided_once_and_forgotten_when_it_stops() -> None:
    assert runtime.running() is None
    first = runtime.current()
    assert runtime.current() is first
    assert runtime.running() is first
    assert first.strategy.distributed_type is DistributedType.NO
    assert first.precision.mode == "no"
    runtime.stop()
    assert runtime.running() is None


def test_the_best_device_is_taken_with_its_reason() -> None:
    with registered(FakeBackend()) as backend:
        run = runtime.start()
        assert run.backend is backend
        assert run.device_why == "the test has added it"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_the_cpu_can_be_asked_for(how: str) -> None:
    with registered(FakeBackend()), environment.patch(accelerate_use_cpu="true" if how == "variable" else None):
        run = runtime.start({"device.cpu": True} if how == "argument" else None)
    assert run.backend.kind == "cpu"
    assert run.device == torch.device("cpu")
    assert run.provenance["device.cpu"].kind is (Kind.ENV if how == "variable" else Kind.KWARG)


def test_a_run_can_move_to_the_cpu() -> None:
    with registered(FakeBackend()):
        runtime.start()
        moved = runtime.move_to_cpu()
    assert moved.backend.kind == "cpu"
    assert runtime.current() is moved


def test_a_device_can_be_named_by_a_variable() -> None:
    with registered(FakeBackend()), environment.patch(accelerate_torch_device="cpu"):
        assert runtime.start().backend.kind == "cpu"


def test_a_named_device_that_is_not_there_is_refused() -> None:
    with (
        registered(FakeBackend("xpu", why_not="no such card is in this machine")),
        environment.patch(accelerate_torch_device="xpu:0"),
        pytest.raises(
            DeviceError,
            match=r"'xpu:0' \(from ACCELERATE_TORCH_DEVICE\), but no such card .* Unset ACCELERATE_TORCH_DEVICE",
        ),
    ):
        runtime.start()


@pytest.mark.parametrize(("set_in_time", "warned"), [(None, True), ("1", False)])
def test_a_fallback_that_comes_too_late_is_said(
    set_in_time: str | None, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    traits = Traits(kind="fake", collective="gloo", fallback_env="FAKE_FALLBACK")
    with (
        registered(FakeBackend(traits=traits)),
        environment.patch(accelerate_mps_fallback="1", fake_fallback=set_in_time),
    ):
        runtime.start()
    assert ("accelerate launch --mps_fallback" in caplog.text) is warned


def test_one_of_several_processes_is_refused_rather_than_left_alone() -> None:
    with (
        environment.patch(rank=1, world_size=2, local_rank=1),
        pytest.raises(LaunchError, match=r"process 1 of 2.*several would each train a model of their own"),
    ):
        runtime.start()
    assert runtime.running() is None


def test_an_error_that_ends_the_program_is_followed_by_the_devices_advice(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.excepthook
    with registered(FakeBackend()):
        runtime.start()
        runtime.start()
        for error in (NotImplementedError("no kernel"), ValueError("mine")):
            sys.excepthook(type(error), error, None)
        shown = capsys.readouterr().err
        assert shown.splitlines() == ["NotImplementedError: no kernel", "fake advice", "ValueError: mine"]
        runtime.stop()
    assert sys.excepthook is before
