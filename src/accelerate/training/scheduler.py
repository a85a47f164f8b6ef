"""Learning-rate schedulers that follow what the optimizers really do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accelerate.training.accumulation import GradientState
from accelerate.training.optimizer import AcceleratedOptimizer


class AcceleratedScheduler:
    """A scheduler that steps only when its optimizers have stepped.

    Attributes that it lacks are those of the scheduler that it wraps.

    Args:
        scheduler: The scheduler to wrap.
        optimizers: The prepared optimizers whose steps it waits for.
        step_with_optimizer: False steps at every call, whatever the optimizers did.
        split_batches: Whether the processes share each batch. If not, `num_processes` batches are used up by one
            optimizer step, and the scheduler, which is written in batches, steps that many times.
        num_processes: Processes of the run.
    """

    def __init__(
        self,
        scheduler: Any,
        optimizers: AcceleratedOptimizer | Sequence[AcceleratedOptimizer],
        step_with_optimizer: bool = True,
        split_batches: bool = False,
        num_processes: int = 1,
    ) -> None:
        self.scheduler = scheduler
        self.optimizers = list(optimizers) if isinstance(optimizers, Sequence) else [optimizers]
        self.step_with_optimizer = step_with_optimizer
        self.split_batches = split_batches
        self.num_processes = num_processes
        self.gradient_state = GradientState()

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Move the schedule on, unless an accumulation window goes on or a step was skipped."""
        if not self.step_with_optimizer:
            self.scheduler.step(*args, **kwargs)
            return
        if not self.gradient_state.sync_gradients:
            if self.gradient_state.adjust_scheduler:
                # Only the count moves on, as torch warns when it falls behind the optimizer's.
                self.scheduler._step_count += 1
            return
        if any(optimizer.step_was_skipped for optimizer in self.optimizers):
            return
        for _ in range(1 if self.split_batches else self.num_processes):
            total_steps = getattr(self.scheduler, "total_steps", None)
            if total_steps is None or self.scheduler._step_count <= total_steps:
                self.scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> Any:
        """Return the learning rates of the last step, one per parameter group."""
        return self.scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Return the wrapped scheduler's state."""
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the wrapped scheduler's state."""
        self.scheduler.load_state_dict(state_dict)

    def get_lr(self) -> Any:
        """Return what the wrapped scheduler computes as its next learning rates."""
        return self.scheduler.get_lr()

    def print_lr(self, *args: Any, **kwargs: Any) -> None:
        """Print the learning rate, with schedulers of torch that still can."""
        self.scheduler.print_lr(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "scheduler":
            raise AttributeError(name)
        return getattr(self.scheduler, name)
