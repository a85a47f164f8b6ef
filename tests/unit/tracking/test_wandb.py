"""Weights & Biases: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import WandBTracker


def test_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "wandb")
    config = {"lr": 0.1, "model": {"layers": [1, 2]}}
    tracker = WandBTracker("project", tags=["a"])
    tracker.start()
    tracker.store_init_configuration(config)
    tracker.log({"loss": 1.5}, step=3, commit=True)
    tracker.finish()
    assert calls == [
        ("wandb.init", (), {"project": "project", "tags": ["a"]}),
        ("wandb.config.update", (config,), {"allow_val_change": True}),
        ("wandb.init().log", ({"loss": 1.5},), {"step": 3, "commit": True}),
        ("wandb.init().finish", (), {}),
    ]
    assert repr(tracker.tracker) == "<wandb.init()>"


def test_images(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "wandb")
    tracker = WandBTracker("project")
    tracker.start()
    tracker.log_images({"pictures": ["x", "y"]}, step=4, commit=True)
    assert calls[1:3] == [("wandb.Image", ("x",), {}), ("wandb.Image", ("y",), {})]
    name, (values,), kwargs = calls[3]
    assert (name, kwargs) == ("wandb.init().log", {"step": 4, "commit": True})
    assert repr(values) == "{'pictures': [<wandb.Image()>, <wandb.Image()>]}"


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "wandb")
    tracker = WandBTracker("project")
    tracker.start()
    tracker.log_table("table", ["c"], [[1]], step=5)
    assert calls[1] == ("wandb.Table", (), {"columns": ["c"], "data": [[1]], "dataframe": None})
    assert calls[2][0] == "wandb.init().log"
    assert calls[2][2] == {"step": 5}
