"""Where programs look for `ParallelismConfig`."""

from __future__ import annotations

from accelerate.plugins.parallelism import ParallelismConfig

__all__ = ["ParallelismConfig"]
