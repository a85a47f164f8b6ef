"""Trackers ask of their libraries what the peer's ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parity.peer import requires_peer, run_both

pytestmark = [pytest.mark.parity, requires_peer]

SCRIPT = f"""
import importlib.machinery, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import pytest, recorder
from accelerate import PartialState, tracking

PartialState(cpu=True)
patch = pytest.MonkeyPatch()

def drive(name, *modules, arguments=("run",), values=None):
    calls = recorder.install(patch, *modules)
    for module in modules:
        sys.modules[module].__version__ = "9.0"
        sys.modules[module].__spec__ = importlib.machinery.ModuleSpec(module, None, origin="stand-in")
    tracker = getattr(tracking, name)(*arguments, tags=["a"])
    tracker.start()
    tracker.store_init_configuration({{"lr": 0.1, "flag": True}})
    tracker.log({{"loss": 1.5, "eval_acc": 2, **(values or {{}})}}, step=3)
    tracker.log({{"loss": 1.25}})
    if hasattr(tracker, "log_images"):
        tracker.log_images({{"eval_image": [1, 2]}}, step=4)
    if hasattr(tracker, "log_table"):
        tracker.log_table("eval_table", ["column"], [[1], [2]], step=5)
        tracker.log_table("table", dataframe=7)
    tracker.finish()
    report(name, (repr(calls), repr(tracker.tracker), tracker.name, tracker.requires_logging_directory))

drive("WandBTracker", "wandb")
drive("TrackioTracker", "trackio")
drive("CometMLTracker", "comet_ml", values={{"text": "x", "group": {{"a": 1}}}})
drive("AimTracker", "aim", arguments=("run", "folder"))
drive("ClearMLTracker", "clearml")
drive("DVCLiveTracker", "dvclive", "dvclive.plots")

class Writer(recorder.Recorded):
    def __init__(self, *args, **kwargs):
        super().__init__("writer", [("SummaryWriter", args, kwargs)])
        writers.append(self)

writers = []
import torch.utils.tensorboard
patch.setattr(torch.utils.tensorboard, "SummaryWriter", Writer)
tracker = tracking.TensorBoardTracker("run", "folder", flush_secs=3)
tracker.start()
tracker.store_init_configuration({{"lr": 0.1, "flag": True, "name": "x"}})
tracker.log({{"loss": 1.5, "n": 2, "text": "x", "group": {{"a": 1}}, "t": torch.tensor(1.0)}}, step=3, walltime=4)
tracker.log_images({{"image": 1}}, step=4, dataformats="HWC")
tracker.finish()
report("TensorBoardTracker", repr(vars(writers[0])["_calls"]))
"""

NAMES = (
    "WandBTracker",
    "TrackioTracker",
    "CometMLTracker",
    "AimTracker",
    "ClearMLTracker",
    "DVCLiveTracker",
    "TensorBoardTracker",
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was asked of each library, under the peer and under ours."""
    return run_both(SCRIPT, cwd=tmp_path_factory.mktemp("trackers"))


@pytest.mark.parametrize("name", NAMES)
def test_a_library_is_asked_the_same(name: str, reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    peer, ours = reports
    assert ours[name] == peer[name]
    assert "loss" in str(ours[name])
