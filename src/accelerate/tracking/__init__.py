"""Experiment trackers: the names of `accelerate.tracking`.

Of the trackers, tensorboard is tested with the library itself; the others are tested against stand-ins that record
the calls made to them.
"""

from accelerate.tracking.aim import AimTracker
from accelerate.tracking.base import GeneralTracker, on_main_process
from accelerate.tracking.clearml import ClearMLTracker
from accelerate.tracking.comet import CometMLTracker
from accelerate.tracking.dvclive import DVCLiveTracker
from accelerate.tracking.mlflow import MLflowTracker
from accelerate.tracking.registry import (
    LOGGER_TYPE_TO_CLASS,
    filter_trackers,
    get_available_trackers,
    register_tracker_class,
)
from accelerate.tracking.swanlab import SwanLabTracker
from accelerate.tracking.tensorboard import TensorBoardTracker
from accelerate.tracking.trackio import TrackioTracker
from accelerate.tracking.wandb import WandBTracker

__all__ = [
    "LOGGER_TYPE_TO_CLASS",
    "AimTracker",
    "ClearMLTracker",
    "CometMLTracker",
    "DVCLiveTracker",
    "GeneralTracker",
    "MLflowTracker",
    "SwanLabTracker",
    "TensorBoardTracker",
    "TrackioTracker",
    "WandBTracker",
    "filter_trackers",
    "get_available_trackers",
    "on_main_process",
    "register_tracker_class",
]
