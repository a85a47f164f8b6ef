from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import accelerate as package
from command_line import START, accelerate, clean_environment

HIDE_TORCH = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "numpy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
LOOK_FOR_TORCH = """
import runpy, sys
try:
    runpy.run_module("accelerate.commands.accelerate_cli", run_name="__main__", alter_sys=True)
finally:
    print("HEAVY", [name for name in ("torch", "numpy", "rich", "questionary") if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture
def no_torch(tmp_path: Path) -> dict[str, str]:
    """Variables for a Python that has neither torch nor numpy."""
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide/sitecustomize.py").write_text(HIDE_TORCH)
    return {"PYTHONPATH": str(tmp_path / "hide")}


def test_the_report_of_this_machine(tmp_path: Path) -> None:
    done = accelerate("env", home=tmp_path, env={"PYTORCH_ENABLE_MPS_FALLBACK": "1", "HF_TOKEN": "hf_verysecret"})
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Copy the lines below into the bug report.", ""]
    assert lines[2] == f"- `Accelerate` version: {package.__version__} (independent implementation, Mac first)"
    labels = [line.removeprefix("- ").split(":")[0] for line in lines[2:]]
    assert {"Platform", "Chip", "Memory", "Python version", "PyTorch version", "Default device"} <= set(labels)
    assert "PYTORCH_ENABLE_MPS_FALLBACK=1" in done.stdout
    assert "verysecret" not in done.stdout


def test_json_is_the_whole_output(tmp_path: Path) -> None:
    done = accelerate("env", "--json", home=tmp_path)
    data = json.loads(done.stdout)
    assert set(data) == {"accelerate", "machine", "default_device", "packages", "environment", "config"}
    assert data["machine"]["python"]["version"] == sys.version.split()[0]
    assert data["config"]["content"] is None


def test_the_configuration_file_is_reported(tmp_path: Path) -> None:
    assert accelerate("config", "default", "--mixed_precision", "bf16", home=tmp_path).returncode == 0
    done = accelerate("env", home=tmp_path)
    assert f"- `Accelerate` config ({tmp_path}/accelerate/default_config.yaml):" in done.stdout
    assert "\n    - mixed_precision: bf16\n" in done.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("mixed_precision: fp17\n", "is 'fp17'"),
        ("a: [\n", "is not YAML"),
        ("num_procesess: 1\n", "unknown key 'num_procesess'"),
        (None, "There is no configuration file"),
    ],
)
def test_what_is_wrong_with_a_configuration_file_is_reported(content: str | None, says: str, tmp_path: Path) -> None:
    place = tmp_path / "c.yaml"
    if content is not None:
        place.write_text(content)
    done = accelerate("env", "--config_file", str(place), home=tmp_path)
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    assert last.startswith("- `Accelerate` config: cannot be used: ")
    assert says in last


@pytest.mark.parametrize("arguments", [["env"], ["env", "--json"], ["config", "default"], ["config"]])
def test_without_torch(arguments: list[str], no_torch: dict[str, str], tmp_path: Path) -> None:
    done = accelerate(*arguments, home=tmp_path, env=no_torch, stdin="\n" * 9)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if arguments == ["env"]:
        assert "- PyTorch version: not installed\n" in done.stdout
    if arguments[0] == "config":
        assert (tmp_path / "accelerate/default_config.yaml").is_file()


@pytest.mark.parametrize("arguments", [["env"], ["config", "default"], ["config"], ["config", "--help"]])
def test_nothing_heavy_is_imported(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [START[0], "-c", LOOK_FOR_TORCH, *arguments],
        env=clean_environment(tmp_path),
        input="\n" * 9,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "HEAVY []"
