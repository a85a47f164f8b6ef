"""MLflow. Tested against a stand-in, not against the library."""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import Any

from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.log import warn_once
from accelerate.tracking.base import GeneralTracker, flat, library, number, on_main_process, skipped


class MLflowTracker(GeneralTracker):
    """Records the run with MLflow.

    The variables MLFLOW_EXPERIMENT_NAME, MLFLOW_RUN_ID, MLFLOW_TAGS (JSON) and MLFLOW_NESTED_RUN come before the
    arguments.

    Args:
        experiment_name: Name of the experiment, made when it does not exist; None takes MLflow's default one.
        logging_dir: Where a new experiment keeps its artifacts.
        run_id: A run to go on with.
        tags: Tags, as a dict or as JSON.
        nested_run: Whether the run lies within one that is active.
        run_name: Name of a new run.
        description: Text about a new run.
    """

    name = "mlflow"
    requires_logging_directory = False
    active_run: Any

    @on_main_process
    def __init__(
        self,
        experiment_name: str | None = None,
        logging_dir: str | os.PathLike[str] | None = None,
        run_id: str | None = None,
        tags: dict[str, Any] | str | None = None,
        nested_run: bool | None = False,
        run_name: str | None = None,
        description: str | None = None,
    ) -> None:
        super().__init__()
        self.experiment_name = environment.get("MLFLOW_EXPERIMENT_NAME") or experiment_name
        self.logging_dir = logging_dir
        self.run_id = environment.get("MLFLOW_RUN_ID") or run_id
        self.tags = _tags(environment.get("MLFLOW_TAGS") or tags)
        self.nested_run = environment.flag("MLFLOW_NESTED_RUN", bool(nested_run))
        self.run_name = run_name
        self.description = description

    @on_main_process
    def start(self) -> None:
        """Begin the run, or go on with it."""
        self.active_run = library("mlflow").start_run(
            run_id=self.run_id,
            experiment_id=self._experiment(),
            run_name=self.run_name,
            nested=self.nested_run,
            tags=self.tags,
            description=self.description,
        )

    def _experiment(self) -> Any:
        if self.experiment_name is None:
            return None
        mlflow = library("mlflow")
        found = mlflow.get_experiment_by_name(self.experiment_name)
        if found is not None:
            return found.experiment_id
        return mlflow.create_experiment(name=self.experiment_name, artifact_location=self.logging_dir, tags=self.tags)

    @property
    def tracker(self) -> Any:
        """The `mlflow.ActiveRun`."""
        return self.active_run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as parameters; nested ones get names joined by `/`.

        Values longer than MLflow takes are left out, with a warning.
        """
        mlflow, limits = library("mlflow"), library("mlflow.utils.validation", "mlflow")
        fitting: dict[str, Any] = {}
        for name, value in flat(values):
            if len(str(value)) > limits.MAX_PARAM_VAL_LENGTH:
                warn_once(
                    "tracking", f"mlflow does not record {name!r}: its text is over {limits.MAX_PARAM_VAL_LENGTH}."
                )
            else:
                fitting[name] = value
        items = iter(fitting.items())
        while batch := dict(islice(items, limits.MAX_PARAMS_TAGS_PER_BATCH)):
            mlflow.log_params(batch)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record numbers; `kwargs` go to `mlflow.log_metrics`."""
        metrics: dict[str, float] = {}
        for name, value in values.items():
            single = number(value)
            if single is None:
                skipped(self, name, value)
            else:
                metrics[name] = single
        library("mlflow").log_metrics(metrics, step=step, **kwargs)

    @on_main_process
    def log_figure(self, figure: Any, artifact_file: str, **save_kwargs: Any) -> None:
        """Record a matplotlib or plotly figure as an artifact; `save_kwargs` go to `mlflow.log_figure`."""
        library("mlflow").log_figure(figure=figure, artifact_file=artifact_file, **save_kwargs)

    @on_main_process
    def log_artifact(self, local_path: str, artifact_path: str | None = None) -> None:
        """Record a file as an artifact, below `artifact_path`."""
        library("mlflow").log_artifact(local_path=local_path, artifact_path=artifact_path)

    @on_main_process
    def log_artifacts(self, local_dir: str, artifact_path: str | None = None) -> None:
        """Record all files of a folder as artifacts, below `artifact_path`."""
        library("mlflow").log_artifacts(local_dir=local_dir, artifact_path=artifact_path)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        library("mlflow").end_run()


def _tags(given: dict[str, Any] | str | None) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError as error:
        raise ConfigError(f"The MLflow tags are {given!r}.", "Tags are a dict, or JSON of one.") from error
