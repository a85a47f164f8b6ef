"""DVCLive. Tested against a stand-in, not against the library."""

from __future__ import annotations

from typing import Any

from accelerate.tracking.base import GeneralTracker, library, number, on_main_process, skipped


class DVCLiveTracker(GeneralTracker):
    """Records the run with DVCLive.

    Args:
        run_name: Not used: DVCLive names runs itself.
        live: A `dvclive.Live` to use; None makes one.
        kwargs: Passed on to `dvclive.Live`.
    """

    name = "dvclive"
    requires_logging_directory = False

    @on_main_process
    def __init__(self, run_name: str | None = None, live: Any = None, **kwargs: Any) -> None:
        del run_name
        super().__init__()
        self.live = live
        self.init_kwargs = kwargs

    @on_main_process
    def start(self) -> None:
        """Begin the run."""
        self.live = self.live if self.live is not None else library("dvclive").Live(**self.init_kwargs)

    @property
    def tracker(self) -> Any:
        """The `dvclive.Live`."""
        return self.live

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Record the settings as parameters."""
        self.live.log_params(values)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Record the values that DVCLive takes as metrics, then go to the next step.

        Args:
            values: Name -> value.
            step: The step they belong to; None lets DVCLive count.
            kwargs: Passed on to `log_metric`.
        """
        metric = library("dvclive.plots", "dvclive").Metric
        if step is not None:
            self.live.step = step
        for name, value in values.items():
            single = number(value)
            found = value if single is None else single
            if metric.could_log(found):
                self.live.log_metric(name, found, **kwargs)
            else:
                skipped(self, name, value)
        self.live.next_step()

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.live.end()
