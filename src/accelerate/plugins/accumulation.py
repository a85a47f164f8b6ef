"""Options of gradient accumulation."""

from __future__ import annotations

from dataclasses import dataclass

from accelerate.plugins.base import KwargsHandler


@dataclass
class GradientAccumulationPlugin(KwargsHandler):
    """How gradients of several batches become one optimizer step.

    Args:
        num_steps: Batches per optimizer step.
        adjust_scheduler: Whether a scheduler also steps on the batches between two optimizer steps, so that a
            schedule written in batches keeps its length.
        sync_with_dataloader: Whether the last batch of a loader always ends a window.
        sync_each_batch: Whether processes exchange gradients on every batch: less memory, more traffic.
        scale_partial_window: Whether the last, shorter window is averaged over the batches that it has. False
            divides by `num_steps` as older versions of the API did, which makes that step smaller.
    """

    num_steps: int | None = None
    adjust_scheduler: bool = True
    sync_with_dataloader: bool = True
    sync_each_batch: bool = False
    scale_partial_window: bool = True
