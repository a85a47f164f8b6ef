from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mps_simulator.build import build
from mps_simulator.errors import SimulatorError
from mps_simulator.installed import find_torch
from programs import plain_environment

# Stands in for a compiler: takes its time, counts its calls, and writes the file that is asked for.
COMPILER = """#!/bin/sh
echo call >> {calls}
sleep 0.5
while [ "$1" != -o ]; do shift; done
echo library > "$2"
"""
BUILD = """
import os
from mps_simulator.build import build
from mps_simulator.installed import find_torch
print(build(find_torch(), os.environ).library.read_text())
"""


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    path = tmp_path / "c++"
    path.write_text(COMPILER.format(calls=tmp_path / "calls"))
    path.chmod(0o755)
    return path


def variables(tmp_path: Path, compiler: Path) -> dict[str, str]:
    return {"MPS_SIMULATOR_CACHE": str(tmp_path / "cache"), "CXX": str(compiler)}


def test_processes_that_start_at_once_compile_once(tmp_path: Path, compiler: Path) -> None:
    command = [sys.executable, "-c", BUILD]
    env = plain_environment(**variables(tmp_path, compiler))
    started = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["library"] * 6
    assert (tmp_path / "calls").read_text().split() == ["call"]


def test_what_was_compiled_is_kept_for_its_torch_and_sources(
    tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = find_torch()
    env = variables(tmp_path, compiler)
    first = build(torch, env)
    assert f"compiling for PyTorch {torch.version}, once" in capsys.readouterr().err
    assert build(torch, env) == first
    assert capsys.readouterr().err == ""
    assert "add.Tensor" in first.operators.read_text().split()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.cpp").touch()
    monkeypatch.setattr("mps_simulator.build.SOURCES", tmp_path / "other")
    assert build(torch, env).library.parent != first.library.parent
    assert (tmp_path / "calls").read_text().split() == ["call", "call"]


def test_a_compiler_that_fails_leaves_nothing_behind(tmp_path: Path, compiler: Path) -> None:
    compiler.write_text("#!/bin/sh\necho 'x.h:1: error: no such thing' >&2\necho 'more' >&2\nexit 1\n")
    with pytest.raises(SimulatorError, match=r"c\+\+ cannot compile for PyTorch .*: x\.h:1: error: no such thing$"):
        build(find_torch(), variables(tmp_path, compiler))
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_compiler_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimulatorError, match=r"^No C\+\+ compiler was found, .* or name one in CXX\.$"):
        build(find_torch(), {"MPS_SIMULATOR_CACHE": str(tmp_path / "cache")})


def test_a_named_compiler_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"CXX names the C\+\+ compiler '.*none', which cannot be run"):
        build(find_torch(), variables(tmp_path, tmp_path / "none"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(SimulatorError, match=r"cache folder .* cannot be written: .* Set MPS_SIMULATOR_CACHE"):
        build(find_torch(), variables(tmp_path, compiler))
