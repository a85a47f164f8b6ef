"""Trackio. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, on_main_process


class TrackioTracker(GeneralTracker):
    """Records the run with trackio, on this machine or in a space.

    Args:
        run_name: Name of the project.
        kwargs: Passed on to `trackio.init`.
    """

    name = "trackio"
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
        self.run = library("trackio").init(project=self.run_name, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The `trackio.Run`."""
        return self.run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings in the run's config."""
        library("trackio").config.update(values, allow_val_change=True)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values; `kwargs` go to `run.log`."""
        self.run.log(values, step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.run.finish()
