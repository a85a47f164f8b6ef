from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from accelerate.plugins.accumulation import GradientAccumulationPlugin
from accelerate.training.accumulation import GradientState, loss_divisor, next_batch


class Loader:
    """Stands where a prepared loader stands."""

    end_of_dataloader = False
    remainder = 3


def _state(**options: Any) -> GradientState:
    GradientState._reset_state()
    return GradientState(GradientAccumulationPlugin(**options))


def _walk(state: GradientState, batches: int) -> list[bool]:
    """Go through one loader of `batches` batches; returns for each whether optimizers would step."""
    loader = Loader()
    steps: list[bool] = []
    state._add_dataloader(loader)
    for index in range(batches):
        loader.end_of_dataloader = index == batches - 1
        next_batch(state)
        steps.append(state.sync_gradients)
    state._remove_dataloader(loader)
    return steps


@given(st.integers(1, 5), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_every_loader_ends_its_window_and_windows_are_full_before_that(num_steps: int, lengths: list[int]) -> None:
    state = _state(num_steps=num_steps)
    for length in lengths:
        steps = _walk(state, length)
        assert steps == [(index + 1) % num_steps == 0 or index == length - 1 for index in range(length)]


@given(st.integers(1, 5), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_windows_cross_loaders_when_told_so(num_steps: int, lengths: list[int]) -> None:
    state = _state(num_steps=num_steps, sync_with_dataloader=False)
    steps = [step for length in lengths for step in _walk(state, length)]
    assert steps == [(index + 1) % num_steps == 0 for index in range(sum(lengths))]


@given(st.integers(1, 6), st.integers(1, 12))
def test_gradients_are_the_mean_over_each_window(num_steps: int, batches: int) -> None:
    state = _state(num_steps=num_steps)
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    loader = Loader()
    state._add_dataloader(loader)
    window: list[float] = []
    for index in range(batches):
        loader.end_of_dataloader = index == batches - 1
        next_batch(state)
        value = float(index * index + 1)
        window.append(value)
        (weight * value / loss_divisor(state, lambda: [weight])).sum().backward()
        if state.sync_gradients:
            assert weight.grad is not None
            assert weight.grad.item() == pytest.approx(sum(window) / len(window), rel=1e-12)
            weight.grad = None
            window.clear()
    assert not window


def test_two_losses_in_the_last_batch_rescale_once() -> None:
    state = _state(num_steps=4)
    weight = torch.nn.Parameter(torch.zeros(1))
    loader = Loader()
    state._add_dataloader(loader)
    for last in (False, True):
        loader.end_of_dataloader = last
        next_batch(state)
        for _ in range(2):
            (weight / loss_divisor(state, lambda: [weight])).sum().backward()
    assert weight.grad is not None
    assert weight.grad.item() == 2.0


def test_the_full_number_divides_a_short_window_when_told_so() -> None:
    state = _state(num_steps=4, scale_partial_window=False)
    _walk(state, 2)
    assert loss_divisor(state, list) == 4


def test_outside_of_a_window_the_loss_is_divided_by_the_number_of_steps() -> None:
    assert loss_divisor(_state(num_steps=3), list) == 3


def test_a_loop_without_gradients_yet_is_no_error() -> None:
    state = _state(num_steps=3)
    _walk(state, 2)
    assert loss_divisor(state, lambda: [torch.nn.Parameter(torch.ones(1))]) == 2


def test_all_instances_are_one_until_they_are_reset() -> None:
    state = _state(num_steps=2)
    assert GradientState().num_steps == 2
    GradientState()._set_sync_gradients(False)
    assert not state.sync_gradients
    GradientState._reset_state()
    assert not state.initialized
    assert GradientState().sync_gradients
    assert GradientState().num_steps == 1
    assert GradientState().adjust_scheduler


def test_the_innermost_loader_is_active_and_dead_ones_are_forgotten() -> None:
    state = _state()
    outer, inner = Loader(), Loader()
    state._add_dataloader(outer)
    state._add_dataloader(inner)
    assert state.active_dataloader is inner
    assert state.remainder == 3
    del inner
    assert state.active_dataloader is outer
    state._remove_dataloader(outer)
    assert not state.in_dataloader
    assert not state.end_of_dataloader
    assert state.remainder == -1
    assert state.dataloader_references == [None]
    assert "sync_gradients=True" in repr(state)
