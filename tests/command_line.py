"""Runs the command line in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

START = (sys.executable, "-m", "accelerate.commands.accelerate_cli")


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of this process without those that steer a run; configuration is looked for under `home`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ACCELERATE_", "PYTORCH_ENABLE_MPS", "CUDA_VISIBLE", "XDG_", "OMP_"))
    }
    return {**kept, "HF_HOME": str(home), **more}


def accelerate(
    *arguments: str, home: Path, cwd: Path | None = None, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `accelerate <arguments>` in `cwd` (or `home`) and wait."""
    return subprocess.run(
        [*START, *arguments],
        cwd=cwd or home,
        env=clean_environment(home, **(env or {})),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
