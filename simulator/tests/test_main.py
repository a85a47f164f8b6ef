from __future__ import annotations

from pathlib import Path

import pytest

from programs import NOTICE, python

SHOW = """
import json, os, sys
print(json.dumps({"argv": sys.argv, "file": __file__, "name": __name__, "cwd": os.getcwd(), "path": sys.path[0]}))
print("to stderr", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (SHOW, 0),
        ("import sys; sys.exit(7)", 7),
        ("def f():\n    raise ValueError('no')\nf()", 1),
        ("sys.exit('text'", 1),
    ],
)
@pytest.mark.parametrize("module", [False, True])
def test_a_program_runs_as_under_python(tmp_path: Path, code: str, status: int, module: bool) -> None:
    (tmp_path / "show.py").write_text(code)
    program = ["-m", "show"] if module else ["show.py"]
    words = ["--memory", "1XB", "", "a b", "-m"]
    theirs = python(*program, *words, cwd=tmp_path)
    ours = python("-m", "mps_simulator", *program, *words, cwd=tmp_path)
    assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode)
    assert ours.stderr == NOTICE + theirs.stderr
    assert ours.returncode == status


def test_flags_of_python_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text("import sys; print(sys.flags.dev_mode, sys.warnoptions)")
    done = python("-W", "error", "-O", "-m", "mps_simulator", "-c", cwd=tmp_path)
    assert done.returncode == 2
    theirs = python("-X", "utf8", "-W", "error", "show.py", cwd=tmp_path)
    ours = python("-X", "utf8", "-W", "error", "-m", "mps_simulator", "show.py", cwd=tmp_path)
    assert ours.stdout == theirs.stdout


def test_the_machine_can_be_chosen() -> None:
    show = (
        "import torch; m = torch.backends.mps; "
        "print(torch.mps.recommended_max_memory(), m.get_name(), m.get_core_count(), m.is_macos_or_newer(14, 5))"
    )
    options = ["--memory", "64GB", "--chip", "m1 max", "--macos", "14.4"]
    done = python(
        "-c", f"import mps_simulator; mps_simulator.activate(memory='64GB', chip='m1 max', macos='14.4'); {show}"
    )
    assert done.stdout.split() == [str(48 << 30), "Apple", "M1", "Max", "32", "False"]
    assert done.stderr == NOTICE.replace("M2, 16 GB, macOS 15.0", "M1 Max, 64 GB, macOS 14.4")
    done = python("-m", "mps_simulator", *options, "-m", "torch.utils.collect_env")
    assert "Is debug build" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "8XB", "x.py"], "--memory is '8XB'"),
        (["--macos", "12", "x.py"], "--macos is '12'"),
        (["--chip", "H200", "x.py"], "--chip is 'H200'"),
        (["--frobnicate", "x.py"], "unrecognized arguments: --frobnicate"),
        (["--mem", "8GB", "x.py"], "unrecognized arguments"),
        (["--memory"], "expected one argument"),
        ([], "No program was given"),
        (["-m"], "No program was given"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], said: str) -> None:
    done = python("-m", "mps_simulator", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mps-simulator: ")
    assert said in done.stderr


def test_bad_variables_are_one_line_and_exit_2_too() -> None:
    done = python("-c", "import torch", env={"MPS_SIMULATOR": "1", "MPS_SIMULATOR_MEMORY": "much"})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mps-simulator: MPS_SIMULATOR_MEMORY is 'much'")


def test_a_cache_that_cannot_be_written_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = python("-m", "mps_simulator", "x.py", env={"MPS_SIMULATOR_CACHE": str(tmp_path / "file")})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "cannot be written" in done.stderr


def test_a_mac_needs_no_simulation() -> None:
    done = python("-c", "import sys; sys.platform = 'darwin'; import mps_simulator; mps_simulator.activate()")
    assert done.stderr.strip().endswith("SimulatorError: This is a real Mac: its own mps needs no simulation.")
