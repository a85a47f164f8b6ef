"""Options of `Accelerator.profile`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelerate.errors import ConfigError
from accelerate.plugins.base import KwargsHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch.profiler


@dataclass
class ProfileKwargs(KwargsHandler):
    """Options of `torch.profiler.profile`.

    Args:
        activities: What is recorded, such as `["cpu", "cuda"]`; None takes all that torch supports here.
        schedule_option: Arguments of `torch.profiler.schedule`: `wait`, `warmup`, `active`, `repeat`,
            `skip_first`.
        on_trace_ready: Called with the profiler after each recorded cycle.
        record_shapes: Whether shapes of inputs are recorded.
        profile_memory: Whether allocations are recorded.
        with_stack: Whether source lines are recorded.
        with_flops: Whether floating point operations of matrix products and convolutions are estimated.
        with_modules: Whether the module of each operation is recorded.
        output_trace_dir: Folder that gets one Chrome trace per process; None writes none.
    """

    activities: list[str] | None = None
    schedule_option: dict[str, int] | None = None
    on_trace_ready: Callable[..., Any] | None = None
    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    output_trace_dir: str | None = None

    def build(self) -> torch.profiler.profile:
        """Make the profiler; it records once it is entered.

        Raises:
            ConfigError: An activity that this torch does not know.
        """
        import torch.profiler

        schedule = torch.profiler.schedule(**self.schedule_option) if self.schedule_option is not None else None
        return torch.profiler.profile(
            activities=self._activities(),
            schedule=schedule,
            on_trace_ready=self.on_trace_ready,
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
            with_modules=self.with_modules,
        )

    def _activities(self) -> list[torch.profiler.ProfilerActivity] | None:
        from torch.profiler import ProfilerActivity

        if self.activities is None:
            return None
        known = {name.lower(): value for name, value in ProfilerActivity.__members__.items()}
        found: list[ProfilerActivity] = []
        for activity in self.activities:
            if activity == "mps" and "mps" not in known:
                warnings.warn(
                    "torch.profiler does not see the Apple GPU; the CPU side is recorded. "
                    "For the GPU side use torch.mps.profiler with Instruments.",
                    stacklevel=4,
                )
                found.append(ProfilerActivity.CPU)
            elif activity in known:
                found.append(known[activity])
            else:
                raise ConfigError(
                    f"{activity!r} is not an activity of torch.profiler.", f"It knows {', '.join(known)}."
                )
        return found
