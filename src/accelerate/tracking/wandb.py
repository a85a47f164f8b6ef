"""Weights & Biases. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import library, on_main_process
from accelerate.tracking.run import ImageRunTracker


class WandBTracker(ImageRunTracker):
    """Sends the run to Weights & Biases."""

    name = "wandb"

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
