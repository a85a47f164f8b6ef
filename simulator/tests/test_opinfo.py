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


def groups() -> list[dict[str, Any]]:
    """The groups of cases that are known to differ."""
    return known()["differences"] + (known()["differences_in_full"] if FULL else [])


def explained() -> set[str]:
    """The cases that differ on every processor."""
    return {case for group in groups() if not group.get("rounding") for case in group["cases"]}


def rounded() -> set[str]:
    """The operators whose cases differ by rounding, on some processors these and on others those."""
    return {case.split(" ")[0] for group in groups() if group.get("rounding") for case in group["cases"]}


@cache
def refused_on_a_mac() -> dict[str, str]:
    """The operators that must fail on a Mac, with their types as source, or "None" for each type.

    As the tests that PyTorch runs on Macs have it. Its module makes the list inside of a function, so it is read from
    the source.
    """
    source = find_torch().folder / "testing" / "_internal" / "common_mps.py"
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "UNIMPLEMENTED_XFAILLIST":
            assert isinstance(node.value, ast.Dict)
            return {ast.literal_eval(key): ast.unparse(value) for key, value in pairs(node.value)}
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
    found = {case: text for case, text in report["failures"].items() if case.split(" ")[0] not in rounded()}
    assert {case: found[case] for case in found.keys() - explained()} == {}
    assert explained() - found.keys() == set()
    assert sum(report["passed"].values()) >= LEAST_SAMPLES


@pytest.mark.timeout(3600 if FULL else 600)
def test_what_is_refused_is_what_pytorch_expects_to_fail_on_a_mac(report: dict[str, Any], record_property: Any) -> None:
    only_on_a_mac: set[str] = set()
    only_here: set[str] = set()
    for dtype in ("float32", "float16", "bfloat16", "int64", "bool"):
        on_a_mac = {name for name, types in refused_on_a_mac().items() if types == "None" or f"torch.{dtype}" in types}
        here = {plain(case) for case in report["refused"] if case.endswith(f" {dtype} forward")}
        ran = {plain(name) for name in report["operators"][f"forward {dtype}"]}
        met = on_a_mac & here
        tried = on_a_mac & (here | ran)
        record_property(
            "figure", f"OpInfo refused as PyTorch's list for Macs has it, {dtype}: {len(met)} of {len(tried)}"
        )
        only_on_a_mac |= {f"{name} {dtype}" for name in tried - here}
        only_here |= here - on_a_mac
    not_met = set() if FULL else known()["refused_in_full"].keys()
    assert only_on_a_mac == known()["fails_only_on_a_mac"].keys() | not_met
    assert only_here == known()["fails_only_here"].keys()


def plain(case: str) -> str:
    """The name of an operator as PyTorch's list has it."""
    return case.split(" ")[0].replace("/", "")
