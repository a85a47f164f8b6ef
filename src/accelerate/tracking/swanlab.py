"""SwanLab. Tested against a stand-in, not against the library."""

from __future__ import annotations

from accelerate.tracking.run import ImageRunTracker


class SwanLabTracker(ImageRunTracker):
    """Records the run with SwanLab."""

    name = "swanlab"
