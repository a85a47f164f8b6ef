"""Trackio. Tested against a stand-in, not against the library."""

from __future__ import annotations

from accelerate.tracking.run import RunTracker


class TrackioTracker(RunTracker):
    """Records the run with trackio, on this machine or in a space."""

    name = "trackio"
