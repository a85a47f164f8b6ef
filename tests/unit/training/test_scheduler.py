from __future__ import annotations

from typing import Any

import pytest
import torch

from accelerate.plugins.accumulation import GradientAccumulationPlugin
from accelerate.training.accumulation import GradientState
from accelerate.training.optimizer import AcceleratedOptimizer
from accelerate.training.scheduler import AcceleratedScheduler


def _scheduler(**options: Any) -> AcceleratedScheduler:
    raw = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(raw, lambda step: 1.0 / (step + 1))
    optimizer = AcceleratedOptimizer(raw)
    optimizer.step()
    return AcceleratedScheduler(schedule, optimizer, **options)


def test_it_steps_with_the_optimizer() -> None:
    scheduler = _scheduler()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5]
    assert scheduler.last_epoch == 1
    with pytest.warns(UserWarning, match="get_last_lr"):
        assert scheduler.get_lr() == [0.5]


def test_inside_a_window_only_its_count_moves() -> None:
    scheduler = _scheduler()
    GradientState()._set_sync_gradients(False)
    count = scheduler._step_count
    scheduler.step()
    assert scheduler.get_last_lr() == [1.0]
    assert scheduler._step_count == count + 1
    GradientState(GradientAccumulationPlugin(adjust_scheduler=False))
    scheduler.step()
    assert scheduler._step_count == count + 1


def test_a_skipped_step_holds_it_back() -> None:
    scheduler = _scheduler()
    scheduler.optimizers[0]._was_skipped = True
    scheduler.step()
    assert scheduler.get_last_lr() == [1.0]


def test_it_steps_at_every_call_when_told_so() -> None:
    scheduler = _scheduler(step_with_optimizer=False)
    GradientState()._set_sync_gradients(False)
    scheduler.optimizers[0]._was_skipped = True
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5]


@pytest.mark.parametrize(("split_batches", "steps"), [(False, 3), (True, 1)])
def test_it_uses_up_the_batches_of_all_processes(split_batches: bool, steps: int) -> None:
    scheduler = _scheduler(split_batches=split_batches, num_processes=3)
    scheduler.step()
    assert scheduler.last_epoch == steps


def test_a_schedule_of_fixed_length_is_not_stepped_over_its_end() -> None:
    raw = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    cycle = torch.optim.lr_scheduler.OneCycleLR(raw, max_lr=1.0, total_steps=4)
    optimizer = AcceleratedOptimizer(raw)
    scheduler = AcceleratedScheduler(cycle, [optimizer], num_processes=3)
    optimizer.step()
    for _ in range(3):
        scheduler.step()
    assert scheduler.last_epoch == 4


def test_states_go_over_to_a_fresh_scheduler() -> None:
    scheduler, fresh = _scheduler(), _scheduler()
    scheduler.step()
    fresh.load_state_dict(scheduler.state_dict())
    assert fresh.last_epoch == 1
    with pytest.raises(AttributeError):
        _ = fresh.no_such_thing
