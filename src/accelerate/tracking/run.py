"""Trackers of the libraries that share one form: `init` begins a run, which has `log` and `finish`."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, on_main_process


class RunTracker(GeneralTracker):
    """A tracker whose library has `init` and `config`; its `name` is the library's.

    Args:
        run_name: Name of the project.
        kwargs: Passed on to the library's `init`.
    """

    requires_logging_directory = False
    main_process_only = False
    run: Any

    @on_main_process
    def __init__(self, run_name: str, **kwargs: Any) -> None:
        super().__init__()
        self.run_name = run_name
        self.init_kwargs = kwargs

    @on_main_process
    def start(self) -> None:
        """Begin the run."""
        self.run = library(self.name).init(project=self.run_name, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The library's run."""
        return self.run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings in the run's config."""
        library(self.name).config.update(values, allow_val_change=True)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values; `kwargs` go to `run.log`."""
        self.run.log(values, step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.run.finish()


class ImageRunTracker(RunTracker):
    """One whose library has `Image` too."""

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record lists of images; `kwargs` go to `run.log`."""
        image = library(self.name).Image
        for name, images in values.items():
            self.log({name: [image(one) for one in images]}, step=step, **kwargs)
