from __future__ import annotations

import pytest

from accelerate.machine.facts import (
    Accelerator,
    Cores,
    DefaultDevice,
    Machine,
    PythonFacts,
    TorchFacts,
    cuda_accelerator,
    default_device,
    mps_accelerator,
)

ARM = PythonFacts(version="3.12.9", arch="arm64", executable="/opt/python3")
ROSETTA = PythonFacts(version="3.12.9", arch="x86_64", executable="/usr/local/bin/python3", translated=True)
WHEEL = TorchFacts(version="2.14.1", path="/site/torch", mps_built=True, mps_needs=(14, 0))


def machine(*accelerators: Accelerator, os: str = "macOS") -> Machine:
    return Machine(
        os=os,
        os_version="15.3",
        arch="arm64",
        chip="Apple M2 Max",
        cores=Cores(total=12),
        memory_bytes=2**35,
        python=ARM,
        torch=WHEEL,
        accelerators=accelerators,
    )


@pytest.mark.parametrize(
    ("arch", "macos", "python", "torch", "available", "says"),
    [
        ("arm64", (15, 3), ARM, WHEEL, True, ""),
        ("arm64", (14, 0), ARM, WHEEL, True, ""),
        ("arm64", None, ARM, WHEEL, True, ""),
        ("arm64", (13, 6), ARM, WHEEL, False, "macOS 13.6 is older than 14.0, which PyTorch 2.14.1 needs"),
        ("arm64", (15, 3), ARM, None, False, "PyTorch is not installed"),
        ("arm64", (15, 3), ROSETTA, WHEEL, False, "(/usr/local/bin/python3) is built for x86_64"),
        ("arm64", (15, 3), ARM, TorchFacts(version="2.7.0", mps_built=False), False, "built without MPS"),
        ("arm64", (15, 3), ARM, TorchFacts(version="2.7.0", mps_built=None), None, ""),
        ("x86_64", (15, 3), ARM, WHEEL, False, "Intel processor"),
    ],
)
def test_mps_is_judged_with_a_reason(
    arch: str,
    macos: tuple[int, int] | None,
    python: PythonFacts,
    torch: TorchFacts | None,
    available: bool | None,
    says: str,
) -> None:
    found = mps_accelerator(arch, "Apple M2 Max", macos, python, torch)
    assert found.available is available
    assert says in found.why_not
    assert bool(found.why_not) == bool(says)
    assert "\n" not in found.why_not


@pytest.mark.parametrize(
    ("present", "visible", "torch", "says"),
    [
        (0, 0, WHEEL, "no NVIDIA GPU"),
        (2, 0, WHEEL, "CUDA_VISIBLE_DEVICES='' hides the NVIDIA H200"),
        (2, 2, None, "not installed"),
        (2, 2, WHEEL, "(2.14.1, /site/torch) was built without CUDA"),
        (2, 1, TorchFacts(version="2.14.1", cuda="13.0"), ""),
    ],
)
def test_cuda_is_judged_with_a_reason(present: int, visible: int, torch: TorchFacts | None, says: str) -> None:
    found = cuda_accelerator(present, visible, "CUDA_VISIBLE_DEVICES=''", "NVIDIA H200", torch)
    assert found.available is not bool(says)
    assert says in found.why_not
    assert found.count == visible


def test_the_accelerator_that_works_is_the_default() -> None:
    mps = Accelerator(kind="mps", count=1, name="Apple M2 Max GPU", available=True)
    assert default_device(machine(mps)) == DefaultDevice(kind="mps", why="this Mac has an Apple M2 Max GPU")


def test_the_cpu_wins_when_asked_for() -> None:
    mps = Accelerator(kind="mps", count=1, available=True)
    assert default_device(machine(mps), cpu=True) == DefaultDevice(kind="cpu", why="the CPU was asked for")


def test_a_device_that_may_work_is_tried() -> None:
    mps = Accelerator(kind="mps", count=1, available=None)
    chosen = default_device(machine(mps))
    assert chosen.kind == "mps"
    assert "may have MPS" in chosen.why


def test_a_device_that_cannot_be_used_is_told_apart_from_one_that_is_not_there() -> None:
    broken = Accelerator(kind="mps", count=1, available=False, why_not="torch is odd")
    absent = Accelerator(kind="cuda", count=0, available=False, why_not="no GPU")
    assert default_device(machine(broken)) == DefaultDevice(kind="cpu", why="torch is odd", unused="torch is odd")
    assert default_device(machine(absent)) == DefaultDevice(kind="cpu", why="no GPU")


def test_a_system_without_known_devices_runs_on_the_cpu() -> None:
    assert default_device(machine(os="freebsd14")).why == "no GPU is known for freebsd14"
    assert machine(os="freebsd14").accelerator("mps") is None


def test_an_nvidia_gpu_is_named_with_its_count() -> None:
    cuda = Accelerator(kind="cuda", count=4, name="NVIDIA H200", available=True)
    assert default_device(machine(cuda, os="Linux")).why == "this machine has 4 x NVIDIA H200"
    assert machine(cuda).accelerator("cuda") is cuda


@pytest.mark.parametrize(
    ("os", "arch", "silicon"),
    [("macOS", "arm64", True), ("macOS", "x86_64", False), ("Linux", "arm64", False)],
)
def test_apple_silicon_needs_both_system_and_processor(os: str, arch: str, silicon: bool) -> None:
    computer = Machine(os=os, os_version="1", arch=arch, cores=Cores(total=1), memory_bytes=1, python=ARM)
    assert computer.apple_silicon is silicon
