"""PyTorch's own OpInfo database on the simulated device, against the CPU, bit by bit.

The first few samples of each operator; all of them with `MPS_SIMULATOR_OPINFO=full` in the environment.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mps_simulator.installed import find_torch
from programs import plain_environment

pytest.importorskip("expecttest", reason="PyTorch's test database needs it")

HERE = Path(__file__).parent
WORKER = HERE / "opinfo_worker.py"
KNOWN = HERE / "data" / "opinfo.yaml"
FULL = os.environ.get("MPS_SIMULATOR_OPINFO") == "full"

# Far fewer would mean that the database was not walked.
LEAST_SAMPLES = 10_000


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the worker found."""
    path = tmp_path_factory.mktemp("opinfo") / "report.json"
    options = ["--full"] if FULL else []
    command = [sys.executable, "-m", "mps_simulator", str(WORKER), str(path), *options]
    environment = plain_environment(OMP_NUM_THREADS="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


@cache
def known() -> dict[str, Any]:
    """The differences that have an explanation."""
    return yaml.safe_load(KNOWN.read_text())


def explained() -> set[str]:
    """The cases that are known to differ."""
    groups = known()["differences"] + (known()["differences_in_full"] if FULL else [])
    return {case for group in groups for case in group["cases"]}


@cache
def refused_on_a_mac() -> set[str]:
    """The operators that must fail on a Mac with float32, as the tests that PyTorch runs on Macs have it.

    PyTorch's module makes the list inside of a function, so it is read from the source.
    """
    source = find_torch().folder / "testing" / "_internal" / "common_mps.py"
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "UNIMPLEMENTED_XFAILLIST":
            assert isinstance(node.value, ast.Dict)
            entries = {ast.literal_eval(key): ast.unparse(value) for key, value in pairs(node.value)}
            return {name for name, types in entries.items() if types == "None" or "torch.float32" in types}
    raise AssertionError("PyTorch's list is not where it was")


def pairs(node: ast.Dict) -> list[tuple[ast.expr, ast.expr]]:
    """The keys and values of a literal."""
    return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]


@pytest.mark.timeout(3600 if FULL else 600)
def test_results_are_those_of_the_cpu_bit_by_bit(report: dict[str, Any], record_property: Any) -> None:
    for check, count in sorted(report["passed"].items()):
        record_property("figure", f"OpInfo {check}: {count} samples of {len(report['operators'][check])} operators")
    for why, count in sorted(report["outcomes"].items()):
        record_property("figure", f"OpInfo not compared, {why}: {count} samples")
    found = report["failures"]
    assert {case: found[case] for case in found.keys() - explained()} == {}
    assert explained() - found.keys() == set()
    assert sum(report["passed"].values()) >= LEAST_SAMPLES


@pytest.mark.timeout(3600 if FULL else 600)
def test_what_is_refused_is_what_pytorch_expects_to_fail_on_a_mac(report: dict[str, Any], record_property: Any) -> None:
    cases = [case.rsplit(" ", 2) for case in report["refused"]]
    here = {name.replace("/", "") for name, dtype, check in cases if (dtype, check) == ("float32", "forward")}
    on_a_mac = refused_on_a_mac()
    record_property("figure", f"OpInfo refused as PyTorch's list for Macs has it: {len(here & on_a_mac)} operators")
    assert on_a_mac - here == known()["fails_only_on_a_mac"].keys()
    assert here - on_a_mac == known()["fails_only_here"].keys()
