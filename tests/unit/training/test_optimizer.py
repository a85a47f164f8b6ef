from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

from accelerate.training.accumulation import GradientState
from accelerate.training.optimizer import AcceleratedOptimizer


def _optimizer(**options: Any) -> tuple[torch.nn.Parameter, AcceleratedOptimizer]:
    weight = torch.nn.Parameter(torch.ones(2))
    return weight, AcceleratedOptimizer(torch.optim.SGD([weight], lr=1.0, momentum=0.5), **options)


def test_it_is_an_optimizer_and_shows_what_it_wraps() -> None:
    weight, optimizer = _optimizer()
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert optimizer.param_groups is optimizer.optimizer.param_groups
    assert optimizer.defaults["lr"] == 1.0
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    assert len(optimizer.param_groups) == 2
    assert optimizer.state is optimizer.optimizer.state
    assert weight in optimizer.param_groups[0]["params"]
    assert "SGD" in repr(optimizer)


def test_nothing_happens_inside_a_window() -> None:
    weight, optimizer = _optimizer()
    weight.sum().backward()
    GradientState()._set_sync_gradients(False)
    optimizer.step()
    optimizer.zero_grad()
    assert weight.tolist() == [1.0, 1.0]
    assert weight.grad is not None
    GradientState()._set_sync_gradients(True)
    optimizer.step()
    optimizer.zero_grad()
    assert weight.tolist() == [0.0, 0.0]
    assert weight.grad is None


def test_gradients_can_be_zeroed_rather_than_dropped() -> None:
    weight, optimizer = _optimizer()
    weight.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad is not None
    assert weight.grad.tolist() == [0.0, 0.0]


def test_a_closure_is_called() -> None:
    weight, optimizer = _optimizer()

    def closure() -> torch.Tensor:
        loss = weight.sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert weight.tolist() == [0.0, 0.0]


def test_infinite_gradients_skip_the_step_and_say_so() -> None:
    weight, optimizer = _optimizer(scaler=torch.amp.GradScaler("cpu", init_scale=2.0))
    assert optimizer.scaler is not None
    optimizer.scaler.scale((weight * torch.inf).sum()).backward()
    optimizer.step()
    assert optimizer.step_was_skipped
    optimizer.zero_grad()
    optimizer.scaler.scale(weight.sum()).backward()
    optimizer.step()
    assert not optimizer.step_was_skipped
    assert weight.tolist() == [0.0, 0.0]


def test_states_go_over_to_a_fresh_optimizer() -> None:
    weight, optimizer = _optimizer()
    weight.sum().backward()
    optimizer.step()
    _, fresh = _optimizer()
    fresh.load_state_dict(optimizer.state_dict())
    restored = next(iter(fresh.state.values()))
    assert torch.equal(restored["momentum_buffer"], torch.ones(2))


def _pickled(optimizer: AcceleratedOptimizer) -> AcceleratedOptimizer:
    return pickle.loads(pickle.dumps(optimizer))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, _pickled])
def test_it_can_be_copied_and_pickled(duplicate: Any) -> None:
    weight, optimizer = _optimizer()
    weight.sum().backward()
    optimizer.step()
    twin = duplicate(optimizer)
    assert twin.param_groups[0]["lr"] == 1.0
    assert twin.param_groups is not optimizer.param_groups


def test_modes_are_switched_where_the_optimizer_has_them() -> None:
    class ScheduleFree(torch.optim.SGD):
        mode = "none"

        def train(self) -> None:
            self.mode = "train"

        def eval(self) -> None:
            self.mode = "eval"

    optimizer = AcceleratedOptimizer(ScheduleFree([torch.nn.Parameter(torch.ones(1))], lr=1.0))
    optimizer.train()
    assert optimizer.mode == "train"
    optimizer.eval()
    assert optimizer.mode == "eval"
    _, plain = _optimizer()
    plain.train()
    plain.eval()
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = plain.no_such_thing


def test_a_torch_scheduler_counts_steps_through_it() -> None:
    weight, optimizer = _optimizer()
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    weight.sum().backward()
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_the_learning_rate_can_be_set_through_it() -> None:
    _, optimizer = _optimizer()
    optimizer.param_groups = [{**optimizer.param_groups[0], "lr": 0.25}]
    optimizer.defaults = {"lr": 0.25}
    optimizer.state = {}
    assert optimizer.optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.optimizer.defaults == {"lr": 0.25}
    assert optimizer.optimizer.state == {}
