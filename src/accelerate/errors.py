"""The exceptions of this package.

AccelerateError
+-- ConfigError         (ValueError)     a setting, flag, file or argument that cannot be used
+-- LaunchError         (RuntimeError)   a run that cannot be started
+-- DeviceError         (RuntimeError)   a device that is missing or lacks what was asked for
+-- CollectiveMismatch  (RuntimeError)   ranks that disagree about what they exchange
+-- CheckpointError     (RuntimeError)   a checkpoint that cannot be written or read

The leaves also derive from the built-in that older programs catch.
"""

from __future__ import annotations


class AccelerateError(Exception):
    """Base of all errors raised on purpose by this package.

    The command line prints `str(error)` on one line, without a traceback, and exits with `exit_code`.

    Args:
        what: What was found, with its value and where it came from. A full sentence or clause.
        why: What is allowed, or why this cannot be used.
        fix: What to do about it.
    """

    exit_code: int = 2

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        self.what, self.why, self.fix = what, why, fix
        super().__init__(" ".join(part for part in (what, why, fix) if part))


class ConfigError(AccelerateError, ValueError):
    """A setting, flag, configuration file or argument that cannot be used."""


class LaunchError(AccelerateError, RuntimeError):
    """A run that cannot be started as asked."""


class DeviceError(AccelerateError, RuntimeError):
    """A device that is not there, or that lacks what was asked of it."""


class CollectiveMismatch(AccelerateError, RuntimeError):
    """Ranks that disagree about what they exchange."""


class CheckpointError(AccelerateError, RuntimeError):
    """A checkpoint that cannot be written or read."""
