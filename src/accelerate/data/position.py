"""Where a loader stands within its epochs, so that an interrupted one can be taken up again.

torch's random samplers draw their order from a generator when an epoch begins. So a position holds the states that the
generators had then: with them the same order can be drawn once more, and the batches already seen be left out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

RandomStates = dict[str, Any]


def random_states(generators: Sequence[torch.Generator]) -> RandomStates:
    """Return the states of the torch generators and of those of Python and numpy, in types that torch loads safely."""
    name, keys, *rest = np.random.get_state()
    return {
        "torch": [generator.get_state() for generator in generators],
        "python": random.getstate(),
        "numpy": [name, torch.from_numpy(np.asarray(keys, dtype=np.int64)), *rest],
    }


def set_random_states(states: RandomStates, generators: Sequence[torch.Generator]) -> None:
    """Put generators back into states that `random_states` returned, for the same ones in the same order."""
    for generator, state in zip(generators, states["torch"], strict=False):
        generator.set_state(state)
    random.setstate(states["python"])
    name, keys, *rest = states["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))


@dataclass
class Position:
    """Where a loader stands; a loader and those that `skip_first_batches` makes of it share one.

    Args:
        epoch: Epochs completed, unless the program has set another number.
        batches: Batches of the epoch that are out, those left out included.
        finished: Whether the last batch of the epoch is out.
        start: What the random generators were when the epoch began; None before the first one.
        fetch: What torch's generator was before the batch was fetched that comes next.
        loaded: Whether this comes from a checkpoint, and no epoch has begun since.
        loop: Changes with each epoch begun and each position loaded. A loop that is given up late, as its iterator was
            still held, sees by it that the position is no longer its own.
    """

    epoch: int = 0
    batches: int = 0
    finished: bool = False
    start: RandomStates | None = None
    fetch: torch.Tensor | None = None
    loaded: bool = False
    loop: int = 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position in types that torch loads safely."""
        return {
            "iteration": self.epoch,
            "batches": self.batches,
            "finished": self.finished,
            "start": self.start,
            "fetch": self.fetch,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved position; the next epoch that begins takes it up."""
        self.epoch = state["iteration"]
        self.batches = state["batches"]
        self.finished = state["finished"]
        self.start = state["start"]
        self.fetch = state["fetch"]
        self.loaded = True
        self.loop += 1

    def set_epoch(self, epoch: int) -> None:
        """Make `epoch` the next one; a position within another epoch is given up."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._rewind()
        elif not self.loaded:
            self.finished = False

    def begin(self, skip: int, *, goes_on: bool = False) -> bool:
        """Begin an epoch without its first `skip` batches; return whether to draw the order of the saved epoch again.

        That is so after a checkpoint, when batches are left out, or when the loader `goes_on` by itself: the program
        goes on within the saved epoch. Otherwise a new one begins. An epoch whose last batch was out is over, unless
        all of its batches are left out.
        """
        self.loop += 1
        loaded, self.loaded = self.loaded, False
        over = self.finished and skip < self.batches
        if loaded and not over and self.start is not None and (skip > 0 or goes_on):
            self.finished = False
            if not goes_on:
                self.fetch = self.fetch if self.batches == skip else None
                self.batches = skip
            return True
        if over if loaded else self.finished:
            self.epoch += 1
        self._rewind()
        self.batches = skip
        return False

    def end(self) -> None:
        """Move to the next epoch."""
        self.epoch += 1
        self._rewind()

    def _rewind(self) -> None:
        self.batches, self.finished, self.start, self.fetch, self.loaded = 0, False, None, None, False
