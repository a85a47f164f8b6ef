from __future__ import annotations

from typing import Any

import torch

from accelerate.plugins.handlers import AutocastKwargs
from accelerate.precision.amp import Amp
from accelerate.precision.full import FULL
from accelerate.training.wrapping import (
    extract_model_from_parallel,
    is_prepared,
    is_spread,
    mark_prepared,
    restore_forward,
    wrap_forward,
)

BF16 = Amp("bf16", "cpu", torch.bfloat16, AutocastKwargs())


def test_a_mark_stays_on_the_object() -> None:
    model = torch.nn.Linear(1, 1)
    assert not is_prepared(model)
    mark_prepared(model)
    assert is_prepared(model)
    assert not is_prepared(3)


def test_the_forward_is_wrapped_and_given_back() -> None:
    model = torch.nn.Linear(2, 2)
    wrap_forward(model, BF16)
    assert model._original_forward == torch.nn.Linear.forward.__get__(model)
    restore_forward(model)
    assert "forward" not in model.__dict__
    assert "_original_forward" not in model.__dict__
    restore_forward(model)


def test_a_users_own_forward_is_given_back() -> None:
    model = torch.nn.Linear(2, 2)

    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    model.__dict__["forward"] = mine
    wrap_forward(model, BF16)
    restore_forward(model)
    assert model.forward is mine


def test_full_precision_changes_nothing() -> None:
    model = torch.nn.Linear(1, 1)
    wrap_forward(model, FULL)
    assert "forward" not in model.__dict__


def test_the_model_comes_out_of_what_is_around_it() -> None:
    model = torch.nn.Linear(1, 1)
    parallel = torch.nn.DataParallel(model)
    assert extract_model_from_parallel(parallel) is model
    compiled: Any = torch.compile(parallel, backend="eager")
    kept = extract_model_from_parallel(compiled)
    assert kept is compiled
    assert compiled._orig_mod is model
    assert extract_model_from_parallel(compiled, keep_torch_compile=False) is model


def test_inner_wrappers_come_off_when_asked() -> None:
    inner = torch.nn.Linear(1, 1)
    outer = torch.nn.Sequential(torch.nn.DataParallel(inner))
    assert extract_model_from_parallel(outer) is outer
    assert isinstance(outer[0], torch.nn.DataParallel)
    assert extract_model_from_parallel(outer, recursive=True)[0] is inner


def test_a_model_is_spread_when_its_map_names_several_devices() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    assert not is_spread(model)
    model[0].hf_device_map = {"": 0}  # pyrefly: ignore[bad-argument-type]
    assert not is_spread(model)
    model[0].hf_device_map = {"a": 0, "b": "cpu"}  # pyrefly: ignore[bad-argument-type]
    assert is_spread(model)
