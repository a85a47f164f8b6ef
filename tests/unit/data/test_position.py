from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from accelerate.data.position import Position, random_states, set_random_states


def draw() -> tuple[float, float, float]:
    return torch.rand(1).item(), random.random(), np.random.rand()


def test_random_states_come_back() -> None:
    own = torch.Generator().manual_seed(3)
    generators = [torch.default_generator, own]
    states = random_states(generators)
    drawn = draw(), torch.rand(1, generator=own)
    draw()
    set_random_states(states, generators)
    assert (draw(), torch.rand(1, generator=own)) == drawn


def test_only_the_generators_given_are_set() -> None:
    own = torch.Generator().manual_seed(3)
    states = random_states([torch.default_generator, own])
    first, second = torch.rand(1, generator=own), torch.rand(1, generator=own.clone_state())
    set_random_states(states, [torch.default_generator])
    assert first != second
    assert torch.rand(1, generator=own) == second


def saved(batches: int, finished: bool = False) -> Position:
    at = Position(epoch=3, batches=batches, finished=finished, start=random_states([]))
    position = Position()
    position.load_state_dict(at.state_dict())
    return position


@pytest.mark.parametrize(
    ("position", "skip", "replays", "epoch"),
    [
        pytest.param(Position(epoch=3), 0, False, 3, id="new"),
        pytest.param(Position(epoch=3), 2, False, 3, id="new, skipping"),
        pytest.param(saved(5), 5, True, 3, id="goes on"),
        pytest.param(saved(5), 2, True, 3, id="goes on elsewhere in the epoch"),
        pytest.param(saved(5), 0, False, 3, id="begins the epoch again"),
        pytest.param(saved(9, finished=True), 0, False, 4, id="was over"),
        pytest.param(saved(9, finished=True), 2, False, 4, id="was over; skips in the next one"),
        pytest.param(saved(9, finished=True), 9, True, 3, id="skips all of it"),
    ],
)
def test_beginning_an_epoch(position: Position, skip: int, replays: bool, epoch: int) -> None:
    assert position.begin(skip) is replays
    assert position.epoch == epoch
    assert not position.finished
    assert position.begin(skip) is False, "taken up once only"
    assert position.epoch == epoch


def test_setting_the_same_epoch_keeps_the_position() -> None:
    position = saved(5)
    position.set_epoch(3)
    assert position.begin(5) is True
    position = saved(5)
    position.set_epoch(4)
    assert position.begin(5) is False
    assert position.epoch == 4


def test_ending_moves_on() -> None:
    position = saved(5)
    position.end()
    assert position == Position(epoch=4, loop=position.loop)


def test_an_epoch_whose_loop_still_lingers_is_over() -> None:
    position = Position(epoch=3, batches=9, finished=True)
    assert position.begin(0) is False
    assert position == Position(epoch=4, loop=1)
    position = Position(epoch=3, batches=9, finished=True)
    position.set_epoch(3)
    position.begin(0)
    assert position.epoch == 3, "what the program says counts more"
