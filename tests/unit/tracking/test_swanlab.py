"""SwanLab: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import SwanLabTracker


def test_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "swanlab")
    config = {"lr": 0.1, "model": {"layers": [1, 2]}}
    tracker = SwanLabTracker("project", tags=["a"])
    tracker.start()
    tracker.store_init_configuration(config)
    tracker.log({"loss": 1.5}, step=3, commit=True)
    tracker.finish()
    assert calls == [
        ("swanlab.init", (), {"project": "project", "tags": ["a"]}),
        ("swanlab.config.update", (config,), {"allow_val_change": True}),
        ("swanlab.init().log", ({"loss": 1.5},), {"step": 3, "commit": True}),
        ("swanlab.init().finish", (), {}),
    ]
    assert repr(tracker.tracker) == "<swanlab.init()>"


def test_images(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "swanlab")
    tracker = SwanLabTracker("project")
    tracker.start()
    tracker.log_images({"pictures": ["x", "y"]}, step=4, commit=True)
    assert calls[1:3] == [("swanlab.Image", ("x",), {}), ("swanlab.Image", ("y",), {})]
    name, (values,), kwargs = calls[3]
    assert (name, kwargs) == ("swanlab.init().log", {"step": 4, "commit": True})
    assert repr(values) == "{'pictures': [<swanlab.Image()>, <swanlab.Image()>]}"
