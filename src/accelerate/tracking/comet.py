"""Comet. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, number, on_main_process, skipped


class CometMLTracker(GeneralTracker):
    """Sends the run to Comet, whose API key must be in its configuration.

    Args:
        run_name: Name of the project.
        kwargs: Passed on to `comet_ml.start`.
    """

    name = "comet_ml"
    requires_logging_directory = False
    experiment: Any

    @on_main_process
    def __init__(self, run_name: str, **kwargs: Any) -> None:
        super().__init__()
        self.run_name = run_name
        self.init_kwargs = kwargs

    @on_main_process
    def start(self) -> None:
        """Begin the experiment."""
        self.experiment = library("comet_ml").start(project_name=self.run_name, **self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The experiment."""
        return self.experiment

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as parameters."""
        self.experiment.log_parameters(values)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record values: numbers as metrics, dicts as groups of metrics, texts as other values.

        Args:
            values: Name -> value.
            step: The step they belong to.
            kwargs: Passed on to `log_metric`, `log_metrics` or `log_other`.
        """
        if step is not None:
            self.experiment.set_step(step)
        for name, value in values.items():
            single = number(value)
            if single is not None:
                self.experiment.log_metric(name, single, step=step, **kwargs)
            elif isinstance(value, str):
                self.experiment.log_other(name, value, **kwargs)
            elif isinstance(value, dict):
                self.experiment.log_metrics(value, step=step, **kwargs)
            else:
                skipped(self, name, value)

    @on_main_process
    def finish(self) -> None:
        """End the experiment."""
        self.experiment.end()
