"""DVCLive: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import DVCLiveTracker

CONFIG = {"lr": 0.1, "model": {"layers": [1, 2]}}


def is_number(value: object) -> bool:
    return isinstance(value, (int, float))


class TestDVCLive:
    """DVCLive counts its own steps."""

    def test_metrics(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "dvclive", "dvclive.plots")
        monkeypatch.setattr("dvclive.plots.Metric.could_log", is_number)
        calls.clear()
        tracker = DVCLiveTracker("unused", dir="folder")
        tracker.start()
        tracker.store_init_configuration(CONFIG)
        tracker.log({"loss": 1.5, "note": "x"}, step=0, plot=False)
        tracker.log({"loss": 2.5})
        tracker.finish()
        assert calls == [
            ("dvclive.Live", (), {"dir": "folder"}),
            ("dvclive.Live().log_params", (CONFIG,), {}),
            ("dvclive.Live().step =", 0),
            ("dvclive.Live().log_metric", ("loss", 1.5), {"plot": False}),
            ("dvclive.Live().next_step", (), {}),
            ("dvclive.Live().log_metric", ("loss", 2.5), {}),
            ("dvclive.Live().next_step", (), {}),
            ("dvclive.Live().end", (), {}),
        ]

    def test_a_live_of_the_script(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = recorder.install(monkeypatch, "dvclive")
        live = object()
        tracker = DVCLiveTracker(live=live)
        tracker.start()
        assert tracker.tracker is live
        assert calls == []
