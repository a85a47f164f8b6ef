"""FIDELITY.md says what is so."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mps_simulator.installed import find_torch
from test_operator_table import kind, table

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "FIDELITY.md"


@cache
def functions(file: Path) -> set[str]:
    """The names of the functions of a module."""
    return {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


def named_tests() -> list[tuple[str, str]]:
    """The tests that the page names."""
    return re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE.read_text())


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_the_tests_that_are_named_exist(file: str, name: str) -> None:
    assert (TESTS / file).is_file()
    assert name in functions(TESTS / file)


def test_each_rule_names_a_test() -> None:
    rows = PAGE.read_text().split("## Rules", 1)[1].split("## Figures", 1)[0].strip().splitlines()[2:]
    assert rows
    assert [row for row in rows if "::test_" not in row] == []


def test_the_counts_are_those_of_the_table() -> None:
    text = PAGE.read_text()
    version = re.search(r"With PyTorch ([\d.]+) for Linux", text)
    assert version is not None
    if find_torch().version.split("+")[0] != version[1]:
        pytest.skip(f"the figures are for PyTorch {version[1]}")
    counts = Counter(kind(name) for name in table())
    said = [int(number) for number in re.findall(r"^\| [a-z][^|]+ \| (\d+) \|$", text, re.MULTILINE)][:4]
    assert said == [counts["with MPS"], counts["composite"], counts["without MPS"], sum(counts.values())]
