"""Weights & Biases. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, on_main_process


class WandBTracker(GeneralTracker):
    """Sends the run to Weights & Biases.

    Args:
        run_name: Name of the project.
        kwargs: Passed on to `wandb.init`.
    """

    name = "wandb"
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
        self.run = library("wandb").init(project=self.run_name, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The `wandb.Run`."""
        return self.run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings in the run's config."""
        library("wandb").config.update(values, allow_val_change=True)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values; `kwargs` go to `run.log`."""
        self.run.log(values, step=step, **kwargs)

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record lists of images; `kwargs` go to `run.log`."""
        image = library("wandb").Image
        for name, images in values.items():
            self.log({name: [image(one) for one in images]}, step=step, **kwargs)

    @on_main_process
    def log_table(
        self,
        table_name: str,
        columns: list[str] | None = None,
        data: list[list[Any]] | None = None,
        dataframe: Any = None,
        step: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Record a table, given as columns and rows or as a pandas dataframe; `kwargs` go to `run.log`."""
        table = library("wandb").Table(columns=columns, data=data, dataframe=dataframe)
        self.log({table_name: table}, step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.run.finish()
