"""Optimizers that know about accumulation windows and gradient scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from accelerate.distributed.placement import send_to_device
from accelerate.precision.scaling import scaled_step
from accelerate.training.accumulation import GradientState


class AcceleratedOptimizer(torch.optim.Optimizer):
    """A torch optimizer whose `step` and `zero_grad` do nothing inside an accumulation window.

    It shares the parameter groups and the state of the optimizer that it wraps; attributes that it lacks are the
    wrapped one's.

    Args:
        optimizer: The optimizer to wrap.
        device_placement: Whether its state, if it has any, is moved to the device of its parameters.
        scaler: Scales gradients down again and skips steps with infinities; None for precisions without one.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        device_placement: bool = True,
        scaler: torch.amp.GradScaler | None = None,
    ) -> None:
        # Optimizer.__init__ would make groups of its own.
        self.optimizer = optimizer
        self.scaler = scaler
        self.device_placement = device_placement
        self.gradient_state = GradientState()
        self._was_skipped = False
        if device_placement:
            self._move_state()

    def _move_state(self) -> None:
        for parameter, state in self.optimizer.state.items():
            # torch keeps the step count of unfused optimizers on the host, where reading it costs nothing.
            moved = {k: v if k == "step" else send_to_device(v, parameter.device) for k, v in state.items()}
            self.optimizer.state[parameter] = moved

    def __getattr__(self, name: str) -> Any:
        if name == "optimizer":  # not there yet while unpickling
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    @property
    def state(self) -> Any:
        """The wrapped optimizer's state, by parameter."""
        return self.optimizer.state

    @state.setter
    def state(self, state: Any) -> None:
        self.optimizer.state = state

    @property
    def param_groups(self) -> Any:
        """The wrapped optimizer's parameter groups."""
        return self.optimizer.param_groups

    @param_groups.setter
    def param_groups(self, param_groups: Any) -> None:
        self.optimizer.param_groups = param_groups

    @property
    def defaults(self) -> Any:
        """The wrapped optimizer's default options."""
        return self.optimizer.defaults

    @defaults.setter
    def defaults(self, defaults: Any) -> None:
        self.optimizer.defaults = defaults

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group to the wrapped optimizer."""
        self.optimizer.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Return the wrapped optimizer's state."""
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the wrapped optimizer's state; torch moves it to the device of the parameters."""
        self.optimizer.load_state_dict(state_dict)

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Reset the gradients, unless the accumulation window goes on."""
        if self.gradient_state.sync_gradients:
            self.optimizer.zero_grad(**({} if set_to_none is None else {"set_to_none": set_to_none}))

    def train(self) -> None:
        """Switch optimizers that have a training mode, as schedule-free ones, to it."""
        if callable(switch := getattr(self.optimizer, "train", None)):
            switch()

    def eval(self) -> None:
        """Switch optimizers that have an evaluation mode, as schedule-free ones, to it."""
        if callable(switch := getattr(self.optimizer, "eval", None)):
            switch()

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # pyrefly: ignore[bad-override]
        """Update the weights, unless the accumulation window goes on or the scaler finds infinities."""
        if not self.gradient_state.sync_gradients:
            return
        if self.scaler is None:
            self.optimizer.step(closure)
        else:
            self._was_skipped = not scaled_step(self.scaler, self.optimizer, closure)

    @property
    def step_was_skipped(self) -> bool:
        """Whether the last step that should have updated weights did not, because of infinite gradients."""
        return self._was_skipped

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"AcceleratedOptimizer({self.optimizer!r})"
