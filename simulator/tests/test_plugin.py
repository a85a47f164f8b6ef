from __future__ import annotations

from pathlib import Path

import pytest
import torch

from programs import python

TESTS = """
import pytest, torch

@pytest.mark.parametrize("number", range(4))
def test_device(mps_device, number):
    assert torch.full((2,), number, device=mps_device).tolist() == [number] * 2

@pytest.mark.mps_simulated
def test_marked():
    assert torch.backends.mps.is_available()
"""


@pytest.mark.parametrize("spread", [[], ["-n", "2"]])
def test_tests_run_on_the_device(tmp_path: Path, spread: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    plugin = ["-p", "mps_simulator.pytest_plugin", "--strict-markers", "-p", "no:cacheprovider"]
    done = python("-m", "pytest", "-q", *plugin, *spread, "test_it.py", cwd=tmp_path)
    assert "5 passed" in done.stdout, done.stdout + done.stderr
    assert done.stderr.count("mps-simulator: mps is simulated") == 1


def test_bad_settings_are_one_line() -> None:
    env = {"MPS_SIMULATOR_MEMORY": "much"}
    done = python("-m", "pytest", "-p", "mps_simulator.pytest_plugin", "--collect-only", env=env)
    assert done.returncode == 4
    assert "MPS_SIMULATOR_MEMORY is 'much'" in done.stderr


def test_marked_tests_are_skipped_on_a_real_mac(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.mps_simulated\ndef test_it():\n    assert False\n"
    )
    code = """
import sys, pytest
sys.platform = "darwin"
import mps_simulator.pytest_plugin
sys.platform = "linux"
sys.exit(pytest.main(["-q", "-p", "mps_simulator.pytest_plugin", "-p", "no:cacheprovider", "test_it.py"]))
"""
    done = python("-c", code, cwd=tmp_path)
    assert "1 skipped" in done.stdout, done.stdout + done.stderr


def test_the_fixture(mps_device: torch.device) -> None:
    assert mps_device == torch.device("mps")
