from __future__ import annotations

from typing import Any

import pytest
import torch

from accelerate import runtime
from accelerate.errors import ConfigError, DeviceError
from accelerate.launch import environment
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DynamoBackend
from accelerate.state import AcceleratorState, DistributedType, GradientState, PartialState
from fake_device import FakeBackend, registered


def test_the_shared_state_is_empty_until_the_first_and_after_a_reset() -> None:
    assert PartialState._shared_state == {}
    assert not GradientState().initialized or GradientState._shared_state
    state = PartialState()
    assert PartialState._shared_state != {}
    assert state.initialized
    assert AcceleratorState._shared_state == {}
    PartialState._reset_state()
    assert PartialState._shared_state == {}


def test_all_states_of_a_class_are_one() -> None:
    vars(PartialState())["mark"] = 3
    assert vars(PartialState())["mark"] == 3


def test_a_state_says_where_it_is() -> None:
    state = PartialState(cpu=True)
    assert state.device == torch.device("cpu")
    assert state.distributed_type is DistributedType.NO
    assert (state.num_processes, state.process_index, state.local_process_index) == (1, 0, 0)
    assert state.backend is None
    assert not state.fork_launched
    assert not state.debug
    assert "Num processes: 1" in repr(state)
    state.set_device()
    state.destroy_process_group()


@pytest.mark.parametrize("make", [PartialState, AcceleratorState])
def test_the_cpu_wins_over_a_run_that_is_already_going(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    with registered(FakeBackend()) as backend:
        assert PartialState().runtime.backend is backend
        assert make(cpu=True).runtime.backend.kind == "cpu"
        assert PartialState().runtime.backend.kind == "cpu"
    assert "the CPU is used from now on" in caplog.text


def test_options_of_a_process_group_are_taken_and_have_no_effect_on_one_process() -> None:
    assert PartialState(backend=None, timeout=None).num_processes == 1


def test_the_best_device_is_told_whatever_is_used() -> None:
    assert PartialState(cpu=True).default_device.type in ("cpu", "cuda", "mps")


def test_precision_comes_from_the_argument_then_the_launcher() -> None:
    with environment.patch(accelerate_mixed_precision="bf16"):
        assert AcceleratorState(cpu=True).mixed_precision == "bf16"
        AcceleratorState._reset_state(reset_partial_state=True)
        assert AcceleratorState(mixed_precision="no", cpu=True).mixed_precision == "no"


def test_a_process_has_one_precision() -> None:
    AcceleratorState(mixed_precision="bf16", cpu=True)
    assert AcceleratorState().mixed_precision == "bf16"
    assert AcceleratorState(mixed_precision="bf16").mixed_precision == "bf16"
    with pytest.raises(ConfigError, match=r"'no', but this process already runs with 'bf16'"):
        AcceleratorState(mixed_precision="no")


def test_a_precision_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(DeviceError, match="fp16"):
        AcceleratorState(mixed_precision="fp16", cpu=True)
    assert AcceleratorState._shared_state == {}
    assert AcceleratorState().mixed_precision == "no"


def test_a_reset_of_everything_but_the_run_goes_back_to_full_precision() -> None:
    AcceleratorState(mixed_precision="bf16", cpu=True)
    assert runtime.current().precision.mode == "bf16"
    AcceleratorState._reset_state()
    assert PartialState._shared_state != {}
    assert runtime.current().precision.mode == "no"


def test_a_run_that_was_stopped_elsewhere_starts_anew() -> None:
    AcceleratorState(mixed_precision="bf16", cpu=True)
    PartialState._reset_state()
    assert AcceleratorState(mixed_precision="no").mixed_precision == "no"


def test_compilation_is_what_the_script_and_the_launcher_say() -> None:
    with environment.patch(accelerate_dynamo_backend="inductor"):
        assert AcceleratorState(cpu=True).dynamo_plugin.backend == DynamoBackend.INDUCTOR
        state = AcceleratorState(dynamo_plugin=TorchDynamoPlugin(backend="eager"))
        assert state.dynamo_plugin.backend == DynamoBackend.EAGER


def test_engines_that_are_not_driven_are_none_and_refused() -> None:
    state = AcceleratorState(cpu=True)
    assert state.deepspeed_plugin is None
    assert state.fsdp_plugin is None
    assert not state.is_fsdp2
    assert "Mixed precision type: no" in repr(state)
    with pytest.raises(ConfigError, match="fsdp_plugin is given"):
        AcceleratorState(fsdp_plugin=object())
