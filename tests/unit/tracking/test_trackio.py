"""Trackio: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import TrackioTracker


def test_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "trackio")
    config = {"lr": 0.1, "model": {"layers": [1, 2]}}
    tracker = TrackioTracker("project", tags=["a"])
    tracker.start()
    tracker.store_init_configuration(config)
    tracker.log({"loss": 1.5}, step=3, commit=True)
    tracker.finish()
    assert calls == [
        ("trackio.init", (), {"project": "project", "tags": ["a"]}),
        ("trackio.config.update", (config,), {"allow_val_change": True}),
        ("trackio.init().log", ({"loss": 1.5},), {"step": 3, "commit": True}),
        ("trackio.init().finish", (), {}),
    ]
    assert repr(tracker.tracker) == "<trackio.init()>"
