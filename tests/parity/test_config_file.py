"""Configuration files go both ways between the peer and ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parity.peer import OURS, PEER, requires_peer

pytestmark = [requires_peer, pytest.mark.parity]

SCRIPT = """
from accelerate import Accelerator
accelerator = Accelerator()
print("RAN", accelerator.device.type, accelerator.mixed_precision, accelerator.num_processes)
"""
LOAD = """
import json, sys
from accelerate.commands.config import load_config_from_file
print(json.dumps([load_config_from_file(path).to_dict() for path in sys.argv[1:]]))
"""
CLI = ("-m", "accelerate.commands.accelerate_cli")
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Runs Python with one of the two installed: `start(PEER, "-c", "...")`."""

    def run(whose: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("ACCELERATE_")}
        return subprocess.run(
            [sys.executable, *arguments],
            env={**variables, "PYTHONPATH": str(whose), "HF_HOME": str(tmp_path / "hf"), "OMP_NUM_THREADS": "1"},
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )

    return run


def test_the_peer_runs_with_our_default_file(start: Start, tmp_path: Path) -> None:
    place, script = str(tmp_path / "c.yaml"), tmp_path / "script.py"
    script.write_text(SCRIPT)
    start(OURS, *CLI, "config", "default", "--config_file", place, "--mixed_precision", "bf16")
    done = start(PEER, *CLI, "launch", "--config_file", place, str(script))
    assert re.search(r"RAN \w+ bf16 1", done.stdout)


def test_the_peer_reads_in_our_files_what_we_do(start: Start, tmp_path: Path) -> None:
    paths = [str(tmp_path / "default.json"), str(tmp_path / "answers.yaml")]
    start(OURS, *CLI, "config", "default", "--config_file", paths[0])
    # Every empty answer takes what the file has said so far.
    before = "use_cpu: true\nmixed_precision: bf16\ndynamo_config: {dynamo_backend: EAGER}\n"
    Path(paths[1]).write_text(before)
    start(OURS, *CLI, "config", "--config_file", paths[1], stdin="\n" * 12)
    theirs = json.loads(start(PEER, "-c", LOAD, *paths).stdout)
    assert json.loads(start(OURS, "-c", LOAD, *paths).stdout) == theirs
    assert theirs[1]["dynamo_config"]["dynamo_backend"] == "EAGER"
    assert theirs[1]["mixed_precision"] == "bf16"


def test_we_read_in_the_peers_file_what_it_does(start: Start, tmp_path: Path) -> None:
    start(PEER, *CLI, "config", "default", "--mixed_precision", "bf16")
    path = str(tmp_path / "hf/accelerate/default_config.yaml")
    theirs = json.loads(start(PEER, "-c", LOAD, path).stdout)
    assert json.loads(start(OURS, "-c", LOAD, path).stdout) == theirs
    assert "ACCELERATE_MIXED_PRECISION=bf16" in start(OURS, *CLI, "launch", "--dry-run", __file__).stdout
