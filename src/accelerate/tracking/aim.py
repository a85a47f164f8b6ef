"""Aim. Tested against a stand-in, not against the library."""

from __future__ import annotations

import os
from typing import Any

from accelerate.tracking.base import GeneralTracker, library, on_main_process


class AimTracker(GeneralTracker):
    """Records the run in an Aim repository.

    Args:
        run_name: Name of the run.
        logging_dir: The repository.
        kwargs: Passed on to `aim.Run`.
    """

    name = "aim"
    requires_logging_directory = True
    writer: Any

    @on_main_process
    def __init__(self, run_name: str, logging_dir: str | os.PathLike[str] | None = ".", **kwargs: Any) -> None:
        super().__init__()
        self.run_name = run_name
        self.aim_repo_path = logging_dir
        self.init_kwargs = kwargs

    @on_main_process
    def start(self) -> None:
        """Begin the run."""
        self.writer = library("aim").Run(repo=self.aim_repo_path, **self.init_kwargs)
        self.writer.name = self.run_name

    @property
    def tracker(self) -> Any:
        """The `aim.Run`."""
        return self.writer

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as `hparams`."""
        self.writer["hparams"] = values

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values; `kwargs` go to `Run.track`."""
        for name, value in values.items():
            self.writer.track(value, name=name, step=step, **kwargs)

    @on_main_process
    def log_images(
        self, values: dict[str, Any], step: int | None = None, kwargs: dict[str, dict[str, Any]] | None = None
    ) -> None:
        """Record images.

        Args:
            values: Name -> image, or a pair of image and caption.
            step: The step they belong to.
            kwargs: Keywords for `aim.Image` under `aim_image`, and for `Run.track` under `track`.
        """
        options = kwargs or {}
        for name, value in values.items():
            image, caption = value if isinstance(value, tuple) else (value, "")
            wrapped = library("aim").Image(image, caption=caption, **options.get("aim_image", {}))
            self.writer.track(wrapped, name=name, step=step, **options.get("track", {}))

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.writer.close()
