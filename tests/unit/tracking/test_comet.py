"""Comet: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import CometMLTracker

CONFIG = {"lr": 0.1, "model": {"layers": [1, 2]}}


def test_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "comet_ml")
    tracker = CometMLTracker("project", workspace="w")
    tracker.start()
    tracker.store_init_configuration(CONFIG)
    tracker.log({"loss": 1.5, "note": "x", "group": {"a": 1}, "list": [1]}, step=3, epoch=1)
    tracker.log({"loss": 2})
    tracker.finish()
    assert calls == [
        ("comet_ml.start", (), {"project_name": "project", "workspace": "w"}),
        ("comet_ml.start().log_parameters", (CONFIG,), {}),
        ("comet_ml.start().set_step", (3,), {}),
        ("comet_ml.start().log_metric", ("loss", 1.5), {"step": 3, "epoch": 1}),
        ("comet_ml.start().log_other", ("note", "x"), {"epoch": 1}),
        ("comet_ml.start().log_metrics", ({"a": 1},), {"step": 3, "epoch": 1}),
        ("comet_ml.start().log_metric", ("loss", 2), {"step": None}),
        ("comet_ml.start().end", (), {}),
    ]
