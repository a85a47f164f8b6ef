"""Where programs look for the launchers of notebooks and tests."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.launch.notebook import debug_launcher, notebook_launcher

__all__ = ["debug_launcher", "notebook_launcher"]

__getattr__ = partial(notbuilt.only, __name__)
