from __future__ import annotations

import pytest
import torch

from accelerate.distributed.collectives import Alone
from accelerate.errors import ConfigError
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DistributedType
from accelerate.precision.full import FULL
from accelerate.strategies.base import Context
from accelerate.strategies.single import Single
from accelerate.training.compile import is_compiled_module


def _context(device: str = "cpu", backend: str = "no") -> Context:
    return Context(
        device=torch.device(device),
        collectives=Alone(),
        precision=FULL,
        compile=TorchDynamoPlugin(backend=backend),
    )


def test_the_model_itself_moves_and_stays_the_same_object() -> None:
    model = torch.nn.Linear(1, 1)
    wrapped = Single().wrap(model, _context("meta"), place=True, evaluation_only=False)
    assert wrapped is model
    assert model.weight.is_meta
    assert Single().unwrap(wrapped) is model
    assert list(Single().state_dict(model)) == ["weight", "bias"]


def test_a_model_stays_where_it_is_when_told_so_or_when_a_map_has_placed_it() -> None:
    model = torch.nn.Linear(1, 1)
    Single().wrap(model, _context("meta"), place=False, evaluation_only=True)
    model.hf_device_map = {"a": "cpu", "b": "meta"}  # pyrefly: ignore[bad-argument-type]
    Single().wrap(model, _context("meta"), place=True, evaluation_only=False)
    assert not model.weight.is_meta


def test_a_model_is_compiled_when_asked() -> None:
    assert is_compiled_module(
        Single().wrap(torch.nn.Linear(1, 1), _context(backend="eager"), place=True, evaluation_only=False)
    )


def test_a_model_without_weights_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"'weight'.*meta.*Load its weights before `prepare`"):
        Single().check(torch.nn.Linear(1, 1, device="meta"), _context())
    Single().check(torch.nn.Linear(1, 1), _context())


def test_gradients_stay_local_and_are_clipped_in_place() -> None:
    strategy, model = Single(), torch.nn.Linear(1, 1, bias=False)
    with strategy.no_sync(model):
        (model(torch.ones(1, 1)) * 3).sum().backward()
    norm = strategy.clip_norm(model.parameters(), 1.0, 2.0)
    assert norm.item() == pytest.approx(3.0)
    assert model.weight.grad is not None
    assert model.weight.grad.item() == pytest.approx(1.0, abs=1e-5)
    assert strategy.distributed_type is DistributedType.NO
