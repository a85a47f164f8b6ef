"""What an `Accelerator` was told, to read and in parts to change."""

from __future__ import annotations

from os import PathLike
from typing import Any

from accelerate.plugins.data import DataLoaderConfiguration
from accelerate.plugins.project import ProjectConfiguration
from accelerate.process import ProcessControl
from accelerate.state import AcceleratorState
from accelerate.training.accumulation import GradientState


class Configured(ProcessControl):
    """The part of `Accelerator` that says how it is set up."""

    state: AcceleratorState
    gradient_state: GradientState
    project_configuration: ProjectConfiguration
    dataloader_config: DataLoaderConfiguration

    @property
    def mixed_precision(self) -> str:
        """The name of the precision: `no`, `fp16` or `bf16`."""
        return self.state.mixed_precision

    @property
    def native_amp(self) -> bool:
        """Whether models run under autocast."""
        return self.mixed_precision != "no"

    @property
    def parallelism_config(self) -> Any:
        """How the model is shared, as it was given; None usually."""
        return self.state.parallelism_config

    @property
    def project_dir(self) -> str | PathLike[str] | None:
        """Folder of checkpoints."""
        return self.project_configuration.project_dir

    @property
    def logging_dir(self) -> str | PathLike[str] | None:
        """Folder of the trackers' files."""
        return self.project_configuration.logging_dir

    @property
    def save_iteration(self) -> int:
        """Number of the next automatically named checkpoint."""
        return self.project_configuration.iteration

    @property
    def gradient_accumulation_steps(self) -> int:
        """Batches per optimizer step."""
        return self.gradient_state.num_steps

    @gradient_accumulation_steps.setter
    def gradient_accumulation_steps(self, steps: int) -> None:
        self.gradient_state.plugin_kwargs["num_steps"] = steps

    @property
    def sync_gradients(self) -> bool:
        """Whether this batch ends its accumulation window, so that optimizers step."""
        return self.gradient_state.sync_gradients

    @sync_gradients.setter
    def sync_gradients(self, sync_gradients: bool) -> None:
        self.gradient_state._set_sync_gradients(sync_gradients)

    @property
    def step(self) -> int:
        """Batches that `accumulate` has seen since the last loader ended."""
        return self.gradient_state.step

    @step.setter
    def step(self, step: int) -> None:
        self.gradient_state.step = step

    @property
    def split_batches(self) -> bool:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.split_batches

    @property
    def dispatch_batches(self) -> bool | None:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.dispatch_batches

    @property
    def even_batches(self) -> bool:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.even_batches

    @even_batches.setter
    def even_batches(self, value: bool) -> None:
        self.dataloader_config.even_batches = value

    @property
    def use_seedable_sampler(self) -> bool:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.use_seedable_sampler

    @property
    def non_blocking(self) -> bool:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.non_blocking

    @property
    def use_stateful_dataloader(self) -> bool:
        """See `DataLoaderConfiguration`."""
        return self.dataloader_config.use_stateful_dataloader
