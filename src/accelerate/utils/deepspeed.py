"""Where programs look for the classes of the DeepSpeed engine, which is not driven."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.plugins.later import (
    DeepSpeedEngineWrapper,
    DeepSpeedOptimizerWrapper,
    DeepSpeedSchedulerWrapper,
    DummyOptim,
    DummyScheduler,
    HfDeepSpeedConfig,
)

__all__ = [
    "DeepSpeedEngineWrapper",
    "DeepSpeedOptimizerWrapper",
    "DeepSpeedSchedulerWrapper",
    "DummyOptim",
    "DummyScheduler",
    "HfDeepSpeedConfig",
]

__getattr__ = partial(notbuilt.only, __name__)
