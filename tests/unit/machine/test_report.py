from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from accelerate.machine.facts import Machine
from accelerate.machine.probe import probe
from accelerate.machine.report import (
    ConfigState,
    Report,
    apple_gpu_cores,
    as_json,
    as_text,
    installed_packages,
    relevant_variables,
)
from machines import dylib, install_torch, linux, mac


def report(machine: Machine, gpu_cores: int | None = None, config: ConfigState | None = None) -> Report:
    return Report(
        version="1.15.0+mac.1",
        location="/Users/ada/venv/accelerate",
        machine=machine,
        gpu_cores=gpu_cores,
        packages={"numpy": "2.4.6", "timm": "1.0.31"},
        variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"},
        config=config or ConfigState(path="/Users/ada/.cache/huggingface/accelerate/default_config.yaml"),
    )


def m2_max(tmp_path: Path, python_arch: str = "arm64") -> Machine:
    torch = install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))
    return probe({}, mac("Apple M2 Max", gib=96, cores=(8, 4), python_arch=python_arch, torch=torch))


def test_text_of_a_mac(tmp_path: Path) -> None:
    content = {"use_cpu": False, "dynamo_config": {"dynamo_backend": "INDUCTOR"}}
    text = as_text(report(m2_max(tmp_path), 38, ConfigState(path="/Users/ada/c.yaml", content=content)), "/Users/ada")
    assert text == (
        "- `Accelerate` version: 1.15.0+mac.1 (independent implementation, Mac first)\n"
        "- `Accelerate` location: ~/venv/accelerate\n"
        "- Platform: macOS 15.3 on arm64\n"
        "- Chip: Apple M2 Max, 12 cores (8 performance, 4 efficiency), 38 GPU cores\n"
        "- Memory: 96.0 GiB\n"
        "- Python version: 3.12.9 (arm64), /opt/homebrew/bin/python3\n"
        f"- PyTorch version: 2.14.1 (no CUDA), {tmp_path}/site-packages/torch\n"
        "- MPS: 1 x Apple M2 Max GPU, built in, should be available (judged from files, PyTorch was not started)\n"
        "- Default device: mps, because this Mac has an Apple M2 Max GPU\n"
        "- Packages: numpy 2.4.6, timm 1.0.31\n"
        "- Environment: PYTORCH_ENABLE_MPS_FALLBACK=1\n"
        "- `Accelerate` config (~/c.yaml):\n"
        "    - use_cpu: False\n"
        "    - dynamo_config:\n"
        "        - dynamo_backend: INDUCTOR"
    )


def test_text_says_why_mps_is_not_used(tmp_path: Path) -> None:
    text = as_text(report(m2_max(tmp_path, python_arch="x86_64")))
    assert "- Platform: macOS 15.3 on arm64\n" in text
    assert "- Python version: 3.12.9 (x86_64, under Rosetta)" in text
    assert "built in, not available" in text
    assert "install an arm64 Python" in text
    assert "- Default device: cpu, because this Python" in text


def test_text_without_torch() -> None:
    text = as_text(report(probe({}, mac())))
    assert "- PyTorch version: not installed\n" in text
    assert "not available (judged from files, PyTorch was not started): PyTorch is not installed" in text


def test_text_when_only_torch_can_tell(tmp_path: Path) -> None:
    text = as_text(report(probe({}, mac(torch=install_torch(tmp_path)))))
    assert "unknown whether built in, may be available" in text


def test_text_of_linux_with_cuda(tmp_path: Path) -> None:
    torch = install_torch(tmp_path, "2.14.1+cu130", cuda="13.0")
    text = as_text(report(probe({}, linux(tmp_path / "root", gpus=2, torch=torch))))
    assert "- PyTorch version: 2.14.1+cu130 (CUDA 13.0)" in text
    assert "- CUDA: 2 x NVIDIA H200, should be available" in text
    assert "MPS" not in text.replace("PYTORCH_ENABLE_MPS_FALLBACK", "")


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (ConfigState(path="/x/c.yaml"), "- `Accelerate` config: none (/x/c.yaml is not there)"),
        (ConfigState(path="/x/c.yaml", problem="is odd."), "- `Accelerate` config: cannot be used: is odd."),
        (ConfigState(path="/x/c.yaml", content={}), "- `Accelerate` config (/x/c.yaml):"),
    ],
)
def test_text_tells_the_state_of_the_configuration(config: ConfigState, line: str) -> None:
    assert as_text(report(probe({}, mac()), config=config)).splitlines()[-1] == line


@pytest.mark.parametrize("home", ["", "/"])
def test_no_home_folder_is_shortened_when_there_is_none(home: str) -> None:
    assert "/Users/ada/venv/accelerate" in as_text(report(probe({}, mac())), home)


def test_a_folder_that_only_begins_like_home_is_left_alone() -> None:
    assert "/Users/ada/venv" in as_text(report(probe({}, mac())), "/Users/ad")


def test_json_holds_what_the_text_says(tmp_path: Path) -> None:
    data = json.loads(json.dumps(as_json(report(m2_max(tmp_path), 38), "/Users/ada")))
    assert data["accelerate"] == {"version": "1.15.0+mac.1", "location": "~/venv/accelerate"}
    assert data["machine"]["chip"] == "Apple M2 Max"
    assert data["machine"]["gpu_cores"] == 38
    assert data["machine"]["torch"]["mps_needs"] == [14, 0]
    assert data["machine"]["accelerators"][0]["available"] is True
    assert data["default_device"]["kind"] == "mps"
    assert data["packages"]["numpy"] == "2.4.6"
    assert data["environment"] == {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    assert data["config"] == {
        "path": "~/.cache/huggingface/accelerate/default_config.yaml",
        "content": None,
        "problem": "",
    }


def test_variables_that_matter_are_told_and_secrets_are_not() -> None:
    told = relevant_variables(
        {
            "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7",
            "ACCELERATE_USE_CPU": "1",
            "CUDA_VISIBLE_DEVICES": "0",
            "HF_HOME": "/hf",
            "HF_TOKEN": "hf_secret",
            "ACCELERATE_API_KEY": "secret",
            "PATH": "/bin",
            "MY_TORCH_THING": "x",
        }
    )
    assert list(told) == ["ACCELERATE_USE_CPU", "CUDA_VISIBLE_DEVICES", "HF_HOME", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"]


def test_gpu_cores_come_from_the_device_tree() -> None:
    asked: list[Sequence[str]] = []

    def tree(command: Sequence[str]) -> str:
        asked.append(command)
        return '+-o AGXAcceleratorG13X\n  {\n    "model" = "Apple M2 Max"\n    "gpu-core-count" = 38\n  }\n'

    assert apple_gpu_cores(tree) == 38
    assert asked[0][0] == "/usr/sbin/ioreg"


@pytest.mark.parametrize("error", [FileNotFoundError(), subprocess.TimeoutExpired("ioreg", 5), None])
def test_gpu_cores_stay_unknown_without_the_device_tree(error: Exception | None) -> None:
    def tree(command: Sequence[str]) -> str:
        if error:
            raise error
        return "nothing of the kind"

    assert apple_gpu_cores(tree) is None


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert set(installed_packages(("numpy", "no-such-package-at-all"))) == {"numpy"}
