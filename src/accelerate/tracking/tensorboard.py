"""TensorBoard. Run for real in the tests."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import yaml

from accelerate.errors import ConfigError
from accelerate.tracking.base import GeneralTracker, flat, library, number, on_main_process, plain, skipped


class TensorBoardTracker(GeneralTracker):
    """Writes event files, which `tensorboard --logdir` shows.

    Args:
        run_name: Name of the run; its files go to a folder of this name.
        logging_dir: Folder above it.
        kwargs: Passed on to `SummaryWriter`.
    """

    name = "tensorboard"
    requires_logging_directory = True
    writer: Any

    @on_main_process
    def __init__(self, run_name: str, logging_dir: str | os.PathLike[str], **kwargs: Any) -> None:
        super().__init__()
        self.run_name = run_name
        self.logging_dir = os.path.join(logging_dir, run_name)
        self.init_kwargs = kwargs

    @on_main_process
    def start(self) -> None:
        """Open the event file."""
        try:
            module = library("torch.utils.tensorboard", "tensorboard")
        except ConfigError:
            module = library("tensorboardX", "tensorboard")
        self.writer = module.SummaryWriter(self.logging_dir, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The `SummaryWriter`."""
        return self.writer

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as hyperparameters, and in `hparams.yml`.

        Args:
            values: Settings. Nested ones get names joined by `/`; what is no number or text is recorded as text.
        """
        settings = plain(values)
        hparams = {name: value if number(value) is not None else str(value) for name, value in flat(settings)}
        self.writer.add_hparams(hparams, metric_dict={})
        self.writer.flush()
        folder = Path(self.logging_dir, str(time.time()))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hparams.yml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values: numbers as scalars, texts as text, dicts of numbers as a group of scalars.

        Args:
            values: Name -> value.
            step: The step they belong to.
            kwargs: Passed on to `add_scalar`, `add_text` or `add_scalars`.
        """
        for name, value in values.items():
            single = number(value)
            if single is not None:
                self.writer.add_scalar(name, single, global_step=step, **kwargs)
            elif isinstance(value, str):
                self.writer.add_text(name, value, global_step=step, **kwargs)
            elif isinstance(value, dict):
                self.writer.add_scalars(name, value, global_step=step, **kwargs)
            else:
                skipped(self, name, value)
        self.writer.flush()

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record images.

        Args:
            values: Name -> batch of images, an array or tensor of shape NCHW, or NHWC with `dataformats="NHWC"`.
            step: The step they belong to.
            kwargs: Passed on to `add_images`.
        """
        for name, images in values.items():
            self.writer.add_images(name, images, global_step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """Close the event file."""
        self.writer.close()
