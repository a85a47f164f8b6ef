from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from accelerate.tracking import TensorBoardTracker


def events(folder: Path) -> EventAccumulator:
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def track(folder: Path, config: dict[str, Any] | None = None) -> TensorBoardTracker:
    tracker = TensorBoardTracker("run", folder, flush_secs=5)
    tracker.start()
    if config is not None:
        tracker.store_init_configuration(config)
    return tracker


def test_values_are_in_the_event_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tracker = track(tmp_path)
    with caplog.at_level(logging.WARNING):
        tracker.log({"loss": 1.5, "acc": torch.tensor(0.25), "lr": np.float32(0.5), "shape": [1, 2]}, step=3)
    tracker.log({"note": "hello", "losses": {"train": 1.0, "eval": 2.0}}, step=4)
    tracker.log_images({"image": torch.zeros(1, 3, 2, 2)}, step=5)
    tracker.finish()
    found = events(tmp_path / "run")
    assert found.Tags()["scalars"] == ["loss", "acc", "lr"]
    for tag, value in {"loss": 1.5, "acc": 0.25, "lr": 0.5}.items():
        assert [(event.step, event.value) for event in found.Scalars(tag)] == [(3, value)]
    (text,) = found.Tensors("note/text_summary")
    assert text.tensor_proto.string_val == [b"hello"]
    assert [event.step for event in found.Images("image")] == [5]
    assert events(tmp_path / "run" / "losses_eval").Scalars("losses")[0].value == 2.0
    assert "tensorboard does not record 'shape': it takes numbers, not list." in caplog.text


def test_nested_settings_are_recorded_and_not_changed(tmp_path: Path) -> None:
    config = {"lr": 0.1, "model": {"layers": [1, 2], "name": "tiny"}, "none": None, "flag": True, "t": torch.tensor(2)}
    tracker = track(tmp_path, config)
    tracker.finish()
    assert config["model"] == {"layers": [1, 2], "name": "tiny"}
    (file,) = (tmp_path / "run").glob("*/hparams.yml")
    assert yaml.safe_load(file.read_text()) == config | {"t": 2}
    (hparams,) = (path.parent for path in (tmp_path / "run").glob("*/events*"))
    summary = events(hparams).SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    for name in (b"lr", b"model/layers", b"[1, 2]", b"model/name", b"tiny", b"none", b"flag"):
        assert name in summary


def test_the_writer_can_be_used_directly(tmp_path: Path) -> None:
    tracker = track(tmp_path)
    assert tracker.tracker.get_logdir() == str(tmp_path / "run")
    tracker.tracker.add_scalar("own", 1.0, 0)
    tracker.finish()
    assert events(tmp_path / "run").Scalars("own")[0].value == 1.0
