"""Every name of the API is where programs look for it, or in the list of those that come later.

`names.txt` is the API; `later.txt` is what this version lacks. Both lists are exact.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from accelerate.notbuilt import StandIn

_HERE = Path(__file__).parent


def _lines(file: str) -> list[str]:
    return [line for line in (_HERE / file).read_text().splitlines() if not line.startswith("#")]


_NAMES, _LATER = _lines("names.txt"), _lines("later.txt")


def _usable(path: str) -> bool:
    """Say whether the path can be imported, and is no stand-in for something that comes later."""
    try:
        importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            return False
        return not (isinstance(found, type) and issubclass(found, StandIn))
    return True


@pytest.mark.parametrize("file", ["names.txt", "later.txt"])
def test_the_lists_are_sorted_and_name_nothing_twice(file: str) -> None:
    assert _lines(file) == sorted(set(_lines(file)))


def test_only_names_of_the_api_come_later() -> None:
    assert set(_LATER) <= set(_NAMES)


@pytest.mark.parametrize("path", sorted(set(_NAMES) - set(_LATER)))
def test_it_is_there(path: str) -> None:
    assert _usable(path)


@pytest.mark.parametrize("path", _LATER)
def test_it_is_still_missing(path: str) -> None:
    assert not _usable(path), "It exists now: take it out of later.txt."


def test_the_flat_namespace_lists_only_what_it_has() -> None:
    names: list[str] = vars(importlib.import_module("accelerate.utils"))["__all__"]
    assert [name for name in names if not _usable(f"accelerate.utils.{name}")] == []


def test_star_imports_work() -> None:
    code = "from accelerate import *; from accelerate.utils import *; print(Accelerator.__name__, set_seed.__name__)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("Accelerator set_seed\n", "")
