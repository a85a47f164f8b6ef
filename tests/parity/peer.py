"""Runs one script under the peer and under ours, and brings back what it reports.

A script is plain Python text written for the API. It calls `report(name, value)`, which this harness
provides, for everything worth comparing; floats, arrays and tensors come back as `float.hex` text, so that
equality means equal bits.

    peer, ours = run_both(SCRIPT)
    assert ours == peer
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / ".peer"
OURS = ROOT / "src"

requires_peer = pytest.mark.skipif(
    not (PEER / "accelerate").is_dir(),
    reason="the peer is not installed in .peer (pip install --no-deps --target .peer accelerate==1.15.0)",
)

_PRELUDE = '''
import atexit as _atexit, json as _json

_reported = {}


def _exact(value):
    """Turn a value into JSON without losing a bit."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _exact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return _exact(value.tolist())
    if hasattr(value, "tolist"):
        return _exact(value.tolist())
    return repr(value)


def report(name, value):
    _reported[name] = _exact(value)


_atexit.register(lambda: print(chr(10) + _json.dumps(_reported), flush=True))
'''


class ScriptFailed(AssertionError):
    """A script that ended with a non-zero status; the text holds its last output."""


def run_under(
    which: Literal["peer", "ours"],
    script: str,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run the script in a process of its own, on the CPU with one thread.

    Args:
        which: Whose `accelerate` the script imports.
        script: Python text. It may call `report(name, value)`; names are unique.
        cwd: Where it runs; give `tmp_path` when it writes files.
        env: Variables to add.

    Returns:
        What was reported, floats as hexadecimal text.

    Raises:
        ScriptFailed: The script ended with a non-zero status.
    """
    prefixes = ("ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "COVERAGE_")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    variables |= {
        "PYTHONPATH": str(PEER if which == "peer" else OURS),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "true",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE + script],
        cwd=cwd,
        env=variables | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if done.returncode != 0:
        raise ScriptFailed(f"the script failed under {which}:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    reported: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reported


def run_both(
    script: str, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the script under the peer, then under ours; below `cwd` each gets a folder of its own.

    Returns:
        The peer's report and ours.
    """

    def one(which: Literal["peer", "ours"]) -> dict[str, Any]:
        folder = cwd / which if cwd is not None else None
        if folder is not None:
            folder.mkdir(exist_ok=True)
        return run_under(which, script, cwd=folder, env=env)

    peer = one("peer")
    assert peer, "the script reported nothing"
    return peer, one("ours")
