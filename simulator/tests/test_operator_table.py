"""Every operator of the installed PyTorch, refused or not as PyTorch's own table says."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mps_simulator.installed import find_torch
from programs import python

WORKER = Path(__file__).with_name("operators_worker.py")
NATIVE, ON_HOST, REFUSED = range(3)

# A structured operator's own form calls its `out` form, and the dispatcher gives it a kernel for every device.
COMPOSITE = {"CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
KERNELS = {"kernel", "default backend kernel", "math kernel"}

# Registered outside of the table on a Mac, to run on the CPU whether the user asked for it or not.
ALWAYS_ON_HOST = {"aten::embedding_renorm_"}

# Of another kernel library than aten's, so not in the table; without a kernel for MPS.
NOT_IN_TABLE = {
    f"aten::quantized_{cell}.{form}"
    for cell in ("gru", "lstm")
    for form in ("data", "input", "data_legacy", "input_legacy")
}


@cache
def table() -> dict[str, dict[str, Any]]:
    """The rows of PyTorch's table, read as YAML, which the simulator does not do."""
    path = find_torch().folder.parent / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    rows = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    return {"aten::" + row["func"].split("(")[0]: row for row in rows}


def backends(name: str) -> set[str]:
    """The keys of the row, and of the row that it delegates to."""
    row = table()[name]
    keys = {key.strip() for group in row.get("dispatch") or {} for key in group.split(",")}
    delegate = row.get("structured_delegate")
    return keys | backends("aten::" + delegate) if delegate else keys


def kind(name: str) -> str:
    """What the table says of an operator on a Mac."""
    keys = backends(name)
    if "MPS" in keys:
        return "with MPS"
    # Without any word on kernels it is made of others; an empty list of kernels is one that has none.
    unsaid = not {"dispatch", "structured_delegate"} & table()[name].keys()
    return "composite" if unsaid or keys & COMPOSITE else "without MPS"


def refusal(name: str) -> str:
    """The exception of a Mac, whole."""
    return (
        f"NotImplementedError: The operator '{name}' is not currently implemented for the MPS device. If you want this "
        "op to be considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and "
        f"mention use-case, that resulted in missing op as well as commit hash {find_torch().commit}. As a temporary "
        "fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for "
        "this op. WARNING: this will be slower than running natively on MPS."
    )


def fallback_warning(name: str) -> str:
    """The warning of a Mac that runs an operator on the CPU."""
    return (
        f"The operator '{name}' is not currently supported on the MPS backend and will fall back to run on the CPU. "
        "This may have performance implications."
    )


def visit(report: Path, *names: str, **environment: str) -> tuple[dict[str, dict[str, Any]], str]:
    """What becomes of the operators, of all or of these, in a new simulated process, and what that says on stderr."""
    done = python("-m", "mps_simulator", str(WORKER), str(report), *names, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text()), done.stderr


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All operators, without the fallback."""
    return visit(tmp_path_factory.mktemp("operators") / "report.json")[0]


def test_every_operator_of_the_table_is_known_to_the_dispatcher(visited: dict[str, dict[str, Any]]) -> None:
    assert not table().keys() - visited.keys()


def test_operators_are_refused_exactly_where_the_table_has_no_mps(
    visited: dict[str, dict[str, Any]], record_property: Any
) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    for name in table():
        found, said = visited[name], kind(name)
        counts[said] += 1
        if not agrees(name, said, found):
            wrong.append((name, said, found))
    counts["outside the table"] = len(visited.keys() - table().keys())
    for said, count in sorted(counts.items()):
        record_property("figure", f"operators {said}: {count}")
    assert not wrong


def agrees(name: str, said: str, found: dict[str, Any]) -> bool:
    """Whether what became of an operator is what the table says."""
    route, decision, result = found["route"], found["decision"], found["result"]
    refused = result == refusal(name)
    if said == "with MPS":
        return decision == NATIVE and not refused
    if said == "composite":
        return route in KERNELS and not refused
    if name in ALWAYS_ON_HOST:
        return decision == ON_HOST and not refused
    if route in KERNELS:  # the form of a structured operator that calls its out form
        return bool(table()[name].get("structured_delegate")) and not refused
    return decision == REFUSED and refused


def test_operators_are_not_taken_apart_where_a_mac_has_a_kernel(visited: dict[str, dict[str, Any]]) -> None:
    whole = [name for name in table() if kind(name) == "with MPS" and visited[name]["on_cpu"] == "kernel"]
    assert {visited[name]["route"] for name in whole} == {"kernel"}


def test_forms_that_delegate_are_refused_in_the_name_of_their_out_form(visited: dict[str, dict[str, Any]]) -> None:
    forms = [name for name in table() if kind(name) == "without MPS" and visited[name]["route"] in KERNELS]
    reached = 0
    for name in forms:
        out = "aten::" + table()[name]["structured_delegate"]
        if "not currently implemented for the MPS device" in visited[name]["result"]:
            assert visited[name]["result"] == refusal(out)
            reached += 1
        assert visited[out]["decision"] == REFUSED
    assert reached


def test_operators_outside_the_table_are_composite_or_refused(visited: dict[str, dict[str, Any]]) -> None:
    outside = {name: found for name, found in visited.items() if name not in table()}
    to_fallback = {name for name, found in outside.items() if found["route"] not in KERNELS}
    assert to_fallback == NOT_IN_TABLE
    assert {outside[name]["decision"] for name in to_fallback} == {REFUSED}


def test_whatever_is_refused_falls_back_with_one_warning_when_that_was_asked_for(
    visited: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    names = [name for name, found in visited.items() if found["result"] == refusal(name)]
    # The worker calls each that is named twice, so that a second warning would show.
    again, said = visit(tmp_path / "report.json", *names, PYTORCH_ENABLE_MPS_FALLBACK="1")
    warnings = Counter(
        line.split("Warning: ", 1)[1].split(" (function")[0] for line in said.splitlines() if "Warning: " in line
    )
    wrong = [name for name in names if warnings[fallback_warning(name)] != 1]
    refused = [name for name in names if again[name]["decision"] != ON_HOST or again[name]["result"] == refusal(name)]
    assert not wrong
    assert not refused
