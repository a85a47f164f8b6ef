"""Runs programs in processes of their own, simulated or not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

NOTICE = (
    "mps-simulator: mps is simulated on the CPU (Apple M2, 16 GB, macOS 15.0); speed and Metal's rounding are not.\n"
)


def plain_environment(**more: str) -> dict[str, str]:
    """The variables of this process without those of the simulation, except for the cache of what is compiled."""
    steering = ("MPS_SIMULATOR", "PYTORCH_", "CXX", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    if "MPS_SIMULATOR_CACHE" in os.environ:
        kept["MPS_SIMULATOR_CACHE"] = os.environ["MPS_SIMULATOR_CACHE"]
    return {**kept, **more}


def python(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python, not simulated unless the arguments or `env` say so, and wait."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=plain_environment(**(env or {})),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def simulated(code: str, *, env: Mapping[str, str] | None = None) -> str:
    """What a piece of code prints in a simulated process of its own that ends well."""
    done = python("-c", code, env={"MPS_SIMULATOR": "1", **(env or {})})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
