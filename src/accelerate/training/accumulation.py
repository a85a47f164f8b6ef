"""Which batches lead to an optimizer step."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch

from accelerate.plugins.accumulation import GradientAccumulationPlugin


class GradientState:
    """Where the loop is: the accumulation window and the loaders that are being iterated.

    All instances share their attributes: this is the one state of training that outlives a call. Prepared loaders,
    optimizers and schedulers read it; `Accelerator.accumulate` writes it.

    Args:
        gradient_accumulation_plugin: Options to take over; None keeps those of earlier instances.
    """

    _shared_state: ClassVar[dict[str, Any]] = {}

    sync_gradients: bool = True
    """Whether this batch ends its accumulation window, so that optimizers step."""
    step: int = 0
    """Batches that `Accelerator.accumulate` has seen since the last loader ended; a checkpoint stores it."""
    batches_in_window: int = 0
    """Batches in the current window, this one included; 0 outside of `Accelerator.accumulate`."""
    is_rescaled: bool = False
    """Whether the gradients of a window that ended early have been rescaled: see `loss_divisor`."""

    def __init__(self, gradient_accumulation_plugin: GradientAccumulationPlugin | None = None) -> None:
        self.__dict__ = self._shared_state
        self._loaders: list[weakref.ref[Any]] = self._shared_state.get("_loaders", [])
        self.plugin_kwargs: dict[str, Any] = self._shared_state.get("plugin_kwargs", {})
        if gradient_accumulation_plugin is not None:
            self.plugin_kwargs = gradient_accumulation_plugin.to_kwargs()

    @property
    def initialized(self) -> bool:
        """Whether any instance exists."""
        return bool(self._shared_state)

    @property
    def num_steps(self) -> int:
        """Batches per optimizer step."""
        return int(self.plugin_kwargs.get("num_steps", 1))

    @property
    def adjust_scheduler(self) -> bool:
        """Whether schedulers count the batches between two optimizer steps."""
        return bool(self.plugin_kwargs.get("adjust_scheduler", True))

    @property
    def sync_with_dataloader(self) -> bool:
        """Whether the last batch of a loader always ends its window."""
        return bool(self.plugin_kwargs.get("sync_with_dataloader", True))

    @property
    def dataloader_references(self) -> list[Any]:
        """The loaders that are being iterated, innermost last; the first item is None."""
        return [None, *(loader for reference in self._loaders if (loader := reference()) is not None)]

    @property
    def active_dataloader(self) -> Any | None:
        """The innermost loader that is being iterated, or None."""
        return self.dataloader_references[-1]

    @property
    def in_dataloader(self) -> bool:
        """Whether a prepared loader is being iterated."""
        return self.active_dataloader is not None

    @property
    def end_of_dataloader(self) -> bool:
        """Whether the active loader has given its last batch."""
        loader = self.active_dataloader
        return loader is not None and bool(loader.end_of_dataloader)

    @property
    def remainder(self) -> int:
        """Samples that the active loader's last batch holds beyond full batches; -1 when that is not known."""
        loader = self.active_dataloader
        return -1 if loader is None else int(loader.remainder)

    def _set_sync_gradients(self, sync_gradients: bool) -> None:
        self.sync_gradients = sync_gradients

    def _add_dataloader(self, dataloader: Any) -> None:
        self._loaders.append(weakref.ref(dataloader))

    def _remove_dataloader(self, dataloader: Any) -> None:
        for index in range(len(self._loaders) - 1, -1, -1):
            if self._loaders[index]() is dataloader:
                del self._loaders[index]
                return

    @classmethod
    def _reset_state(cls) -> None:
        cls._shared_state.clear()

    def __repr__(self) -> str:
        return (
            f"GradientState(sync_gradients={self.sync_gradients}, end_of_dataloader={self.end_of_dataloader}, "
            f"remainder={self.remainder}, plugin_kwargs={self.plugin_kwargs})"
        )


def next_batch(state: GradientState) -> None:
    """Move `state` to the next batch of the loop: count it into its window and say whether it ends the window."""
    state.step += 1
    state.batches_in_window = (state.step - 1) % state.num_steps + 1
    state.is_rescaled = False
    at_end = state.sync_with_dataloader and state.end_of_dataloader
    state._set_sync_gradients(at_end or state.step % state.num_steps == 0)
    if at_end:
        state.step = 0


def loss_divisor(state: GradientState, parameters: Callable[[], Iterable[torch.Tensor]]) -> int:
    """Return what the loss of this batch is divided by, so that gradients become the mean over their window.

    That is the number of batches in a full window. A window can end early, with its loader, which nobody can know
    before for a loader without length. Then the gradients of what `parameters` returns are rescaled in place, once,
    to the number of batches that the window has, and that number is returned; not so when
    `GradientAccumulationPlugin.scale_partial_window` is off.
    """
    ended_early = state.sync_gradients and 0 < state.batches_in_window < state.num_steps
    if not ended_early or not state.plugin_kwargs.get("scale_partial_window", True):
        return state.num_steps
    if not state.is_rescaled:
        state.is_rescaled = True
        gradients = [parameter.grad for parameter in parameters() if parameter.grad is not None]
        if gradients:
            torch._foreach_mul_(gradients, state.num_steps / state.batches_in_window)
    return state.batches_in_window
