from __future__ import annotations

import pytest
import torch

from accelerate.precision.scaling import scaled_step, unscale_once


def _setup(fused: bool = False) -> tuple[torch.amp.GradScaler, torch.nn.Parameter, torch.optim.Optimizer]:
    weight = torch.nn.Parameter(torch.ones(2))
    return torch.amp.GradScaler("cpu", init_scale=8.0), weight, torch.optim.SGD([weight], lr=1.0, fused=fused)


@pytest.mark.parametrize("fused", [False, True])
def test_finite_gradients_are_unscaled_and_stepped_with(fused: bool) -> None:
    scaler, weight, optimizer = _setup(fused)
    scaler.scale((weight * 2).sum()).backward()
    assert scaled_step(scaler, optimizer)
    assert weight.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("fused", [False, True])
def test_an_infinite_gradient_skips_the_step_and_halves_the_scale(fused: bool) -> None:
    scaler, weight, optimizer = _setup(fused)
    scaler.scale((weight * torch.inf).sum()).backward()
    assert not scaled_step(scaler, optimizer)
    assert weight.tolist() == [1.0, 1.0]
    assert scaler.get_scale() == 4.0


def test_unscaling_twice_before_a_step_unscales_once() -> None:
    scaler, weight, optimizer = _setup()
    scaler.scale((weight * 2).sum()).backward()
    unscale_once(scaler, optimizer)
    unscale_once(scaler, optimizer)
    assert weight.grad is not None
    assert weight.grad.tolist() == [2.0, 2.0]
    assert scaled_step(scaler, optimizer)
    assert weight.tolist() == [-1.0, -1.0]


def test_a_closure_is_refused_by_torch_and_leaves_no_hook_behind() -> None:
    scaler, weight, optimizer = _setup()
    scaler.scale(weight.sum()).backward()
    with pytest.raises(RuntimeError, match=r"[Cc]losure"):
        scaled_step(scaler, optimizer, lambda: 0.0)
    assert not optimizer._optimizer_step_post_hooks
