from __future__ import annotations

from collections import UserDict
from typing import Any

import pytest
import torch

from accelerate.devices.base import Traits
from accelerate.distributed.placement import move_module, send_to_device
from fake_device import FakeBackend, registered

META = torch.device("meta")


class Tokens(UserDict[str, Any]):
    """A batch as tokenizers make them."""

    def to(self, device: Any) -> Tokens:
        raise AssertionError("float64 would not be mended")


class Own:
    """An object that moves itself."""

    def __init__(self) -> None:
        self.moved_to: Any = None

    def to(self, device: Any) -> Own:
        self.moved_to = device
        return self


def test_every_tensor_of_a_structure_moves() -> None:
    moved = send_to_device({"a": [torch.ones(1)], "b": (torch.ones(1), "text")}, "meta")
    assert moved["a"][0].device == META
    assert moved["b"][0].device == META
    assert moved["b"][1] == "text"


@pytest.mark.parametrize("skip", ["a", ["a"], ("a", "z")])
def test_values_under_skipped_keys_stay(skip: Any) -> None:
    batch = {"a": torch.ones(1), "b": {"a": torch.ones(1), "c": torch.ones(1)}}
    moved = send_to_device(batch, META, skip_keys=skip)
    assert moved["a"].device == torch.device("cpu")
    assert moved["b"]["a"].device == torch.device("cpu")
    assert moved["b"]["c"].device == META


def test_batches_of_tokenizers_move_and_stay_what_they_are() -> None:
    moved = send_to_device(Tokens({"ids": torch.ones(1)}), META)
    assert isinstance(moved, Tokens)
    assert moved["ids"].device == META


def test_objects_that_can_move_do_it_themselves() -> None:
    own = Own()
    assert send_to_device(own, META) is own
    assert own.moved_to == META


def test_a_module_in_a_structure_moves() -> None:
    assert send_to_device([torch.nn.Linear(1, 1)], META)[0].weight.device == META


def test_modules_keep_their_parameters_and_lose_only_what_the_device_lacks() -> None:
    module = torch.nn.BatchNorm1d(2).double()
    weight = module.weight
    no_float64 = FakeBackend("cpu", Traits(kind="cpu", collective="gloo", float64=False))
    with registered(no_float64):
        move_module(module, torch.device("cpu"))
    assert module.weight is weight
    assert module.weight.dtype == torch.float32
    assert module.running_mean is not None
    assert module.running_mean.dtype == torch.float32
    assert module.num_batches_tracked is not None
    assert module.num_batches_tracked.dtype == torch.int64
