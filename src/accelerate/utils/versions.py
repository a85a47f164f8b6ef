"""Where programs look for comparisons of versions."""

from __future__ import annotations

from accelerate.machine.packages import compare_versions, is_torch_version

__all__ = [
    "compare_versions",
    "is_torch_version",
]
