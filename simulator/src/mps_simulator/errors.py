"""The one exception of the package."""

from __future__ import annotations


class SimulatorError(RuntimeError):
    """The simulation cannot start. The message is one line: what is wrong, and what to do."""

    exit_code = 2
