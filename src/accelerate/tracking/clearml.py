"""ClearML. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.tracking.base import GeneralTracker, library, number, on_main_process, skipped


class ClearMLTracker(GeneralTracker):
    """Records the run as a ClearML task: the one that is running, or a new one.

    Args:
        run_name: Name of a new project and task, unless CLEARML_PROJECT and CLEARML_TASK or `kwargs` say otherwise.
        kwargs: Passed on to `Task.init`.
    """

    name = "clearml"
    requires_logging_directory = False
    task: Any

    @on_main_process
    def __init__(self, run_name: str | None = None, **kwargs: Any) -> None:
        super().__init__()
        self.user_provided_run_name = run_name
        self.init_kwargs = kwargs
        self._task_is_ours = False

    @on_main_process
    def start(self) -> None:
        """Take the task that is running, or begin one."""
        task = library("clearml").Task
        running = task.current_task()
        if running:
            self.task = running
            return
        names = {
            "project_name": environment.get("CLEARML_PROJECT") or self.user_provided_run_name,
            "task_name": environment.get("CLEARML_TASK") or self.user_provided_run_name,
        }
        self.task = task.init(**{**names, **self.init_kwargs})
        self._task_is_ours = True

    @property
    def tracker(self) -> Any:
        """The `clearml.Task`."""
        return self.task

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as the task's configuration."""
        self.task.connect_configuration(values)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record numbers: with a step as points of a plot, else as single values.

        Args:
            values: Name -> number. `eval_`, `test_` or `train_` before the name chooses the series of the plot.
            step: The step they belong to.
            kwargs: Passed on to `report_scalar` or `report_single_value`.
        """
        logger = self.task.get_logger()
        for name, value in values.items():
            single = number(value)
            if single is None:
                skipped(self, name, value)
            elif step is None:
                logger.report_single_value(name=name, value=single, **kwargs)
            else:
                title, series = _title_and_series(name)
                logger.report_scalar(title=title, series=series, value=single, iteration=step, **kwargs)

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record images; `kwargs` go to `report_image`."""
        logger = self.task.get_logger()
        for name, image in values.items():
            title, series = _title_and_series(name)
            logger.report_image(title=title, series=series, iteration=step, image=image, **kwargs)

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
        """Record a table, given as columns and rows or as a pandas dataframe; `kwargs` go to `report_table`.

        Raises:
            ConfigError: There are neither rows nor a dataframe.
        """
        if dataframe is None and data is None:
            raise ConfigError("log_table() got neither data nor dataframe.", "A table has one of them.")
        table = dataframe if dataframe is not None else [*([columns] if columns else []), *(data or [])]
        title, series = _title_and_series(table_name)
        self.task.get_logger().report_table(title=title, series=series, table_plot=table, iteration=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """End the task, unless it ran before this tracker."""
        if self._task_is_ours:
            self.task.close()


def _title_and_series(name: str) -> tuple[str, str]:
    for series in ("eval", "test", "train"):
        if name.startswith(f"{series}_"):
            return name[len(series) + 1 :], series
    return name, "train"
