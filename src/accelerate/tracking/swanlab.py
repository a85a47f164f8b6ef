"""SwanLab. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, on_main_process


class SwanLabTracker(GeneralTracker):
    """Records the run with SwanLab.

    Args:
        run_name: Name of the project.
        kwargs: Passed on to `swanlab.init`.
    """

    name = "swanlab"
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
        self.run = library("swanlab").init(project=self.run_name, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The run."""
        return self.run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings in the run's config."""
        library("swanlab").config.update(values, allow_val_change=True)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values; `kwargs` go to `run.log`."""
        self.run.log(values, step=step, **kwargs)

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record lists of images; `kwargs` go to `run.log`."""
        image = library("swanlab").Image
        for name, images in values.items():
            self.log({name: [image(one) for one in images]}, step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.run.finish()
