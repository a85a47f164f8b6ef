"""Aim: what the tracker asks of a stand-in for the library."""

from __future__ import annotations

import pytest

import recorder
from accelerate.tracking import AimTracker, GeneralTracker

CONFIG = {"lr": 0.1, "model": {"layers": [1, 2]}}


def run(tracker: GeneralTracker, step: int | None = 3) -> None:
    tracker.start()
    tracker.store_init_configuration(CONFIG)
    tracker.log({"loss": 1.5}, step=step)
    tracker.finish()


def test_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorder.install(monkeypatch, "aim")
    tracker = AimTracker("name", "folder", capture_terminal_logs=False)
    run(tracker)
    tracker.log_images({"a": "x", "b": ("y", "text")}, step=4, kwargs={"aim_image": {"q": 1}, "track": {"z": 2}})
    assert calls[:5] == [
        ("aim.Run", (), {"repo": "folder", "capture_terminal_logs": False}),
        ("aim.Run().name =", "name"),
        ("aim.Run()[hparams] =", CONFIG),
        ("aim.Run().track", (1.5,), {"name": "loss", "step": 3}),
        ("aim.Run().close", (), {}),
    ]
    assert calls[5] == ("aim.Image", ("x",), {"caption": "", "q": 1})
    assert calls[6][2] == {"name": "a", "step": 4, "z": 2}
    assert calls[7] == ("aim.Image", ("y",), {"caption": "text", "q": 1})
