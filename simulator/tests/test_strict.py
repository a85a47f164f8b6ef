"""`--strict`: each hazard raises, its safe twin does not, and nothing does without the option."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import strict_cases
from programs import python

PROGRAM = Path(strict_cases.__file__)
LATE = """
import torch
source = torch.ones(2)
print((source.to("mps", non_blocking=True) + 1).tolist())
"""


def _run(*options: str) -> Mapping[str, str]:
    done = python("-W", "ignore", "-m", "mps_simulator", *options, str(PROGRAM), cwd=PROGRAM.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def raised() -> Mapping[str, str]:
    return _run("--strict")


@pytest.mark.parametrize("name", strict_cases.CASES)
def test_hazards_raise_and_their_safe_twins_do_not(name: str, raised: Mapping[str, str]) -> None:
    _, wrong = strict_cases.CASES[name]
    if wrong:
        assert wrong in raised[name]
        assert raised[name].startswith("mps-simulator --strict: ")
    else:
        assert raised[name] == ""


def test_the_error_names_the_copy_and_says_what_to_do(raised: Mapping[str, str]) -> None:
    text = raised["used_by_an_operator"]
    line = 1 + PROGRAM.read_text().splitlines().index('    return source.to("mps", non_blocking=True)')
    assert f"of a [4, 4] tensor of float32 from memory that is not pinned, at strict_cases.py:{line}." in text
    assert "torch.mps.synchronize()" in text
    assert "\n" not in text


@pytest.mark.parametrize("name", ["dropout_reentrant", "dropout_not_reentrant"])
def test_the_error_names_the_checkpoint_and_says_what_to_do(name: str, raised: Mapping[str, str]) -> None:
    text = raised[name]
    call = "    result: Any = checkpoint(_net(dropout), inputs, **options)"
    line = 1 + PROGRAM.read_text().splitlines().index(call)
    assert "recomputed aten::bernoulli_.float with other random numbers" in text
    assert f"The forward pass was at strict_cases.py:{line}." in text
    assert "context_fn" in text


def test_nothing_raises_without_the_option() -> None:
    assert set(_run().values()) == {""}


@pytest.mark.parametrize(
    ("code", "env"),
    [
        (LATE, {"MPS_SIMULATOR": "1", "MPS_SIMULATOR_STRICT": "1"}),
        ("import mps_simulator; mps_simulator.activate(strict=True)" + LATE, {}),
    ],
    ids=["variable", "activate"],
)
def test_other_ways_in(code: str, env: Mapping[str, str]) -> None:
    done = python("-c", code, env=env)
    assert done.returncode == 1
    assert "RuntimeError: mps-simulator --strict: a tensor on mps was used" in done.stderr


def test_children_are_strict_too(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LATE!r}])"
    (tmp_path / "parent.py").write_text(child)
    done = python("-m", "mps_simulator", "--strict", "parent.py", cwd=tmp_path)
    assert "RuntimeError: mps-simulator --strict: a tensor on mps was used" in done.stderr


def test_a_bad_value_is_refused_in_one_line() -> None:
    done = python("-m", "mps_simulator", "x.py", env={"MPS_SIMULATOR_STRICT": "yes"})
    assert (done.returncode, done.stderr) == (
        2,
        "mps-simulator: MPS_SIMULATOR_STRICT is 'yes'; it must be 1 or 0.\n",
    )
