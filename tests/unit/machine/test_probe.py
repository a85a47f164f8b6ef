from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accelerate.machine.facts import Cores, default_device
from accelerate.machine.probe import Source, find_package, probe, read_torch
from machines import GIB, dylib, install_torch, linux, mac


def test_m1_with_8_gb(tmp_path: Path) -> None:
    torch = install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))
    machine = probe({}, mac(torch=torch))
    assert (machine.os, machine.os_version, machine.arch) == ("macOS", "15.3", "arm64")
    assert machine.chip == "Apple M1"
    assert machine.cores == Cores(total=8, performance=4, efficiency=4)
    assert machine.memory_bytes == 8 * GIB
    assert machine.torch is not None
    assert (machine.torch.version, machine.torch.mps_built, machine.torch.mps_needs) == (
        "2.14.1",
        True,
        (14, 0),
    )
    assert default_device(machine).kind == "mps"


@pytest.mark.parametrize("chip", ["Apple M2 Max", "Apple M5", "Apple M3 Ultra"])
def test_later_chips_have_their_name(chip: str, tmp_path: Path) -> None:
    torch = install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))
    machine = probe({}, mac(chip, macos="26.1", gib=96, cores=(8, 4), torch=torch))
    assert machine.apple_silicon
    assert default_device(machine).why == f"this Mac has an {chip} GPU"


@pytest.mark.parametrize(
    ("macos", "version", "library_needs", "available"),
    [
        ("13.6.1", "2.14.1", (14, 0), False),
        ("13.6.1", "2.9.0", (11, 0), False),
        ("13.6.1", "2.8.0", (11, 0), True),
        ("12.7", "2.8.0", (11, 0), False),
        ("14.0", "2.14.1", (14, 0), True),
        ("14.5", "2.30.0", (15, 0), False),
    ],
)
def test_the_macos_that_mps_needs_follows_from_torch(
    macos: str, version: str, library_needs: tuple[int, int], available: bool, tmp_path: Path
) -> None:
    torch = install_torch(tmp_path, version, library=dylib(mps=True, macos=library_needs))
    machine = probe({}, mac(macos=macos, torch=torch))
    assert machine.accelerators[0].available is available


def test_python_under_rosetta_cannot_reach_the_gpu(tmp_path: Path) -> None:
    torch = install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))
    machine = probe({}, mac(python_arch="x86_64", torch=torch))
    assert machine.arch == "arm64"
    assert machine.python.arch == "x86_64"
    assert machine.python.translated
    assert "Rosetta" in default_device(machine).unused


def test_intel_mac(tmp_path: Path) -> None:
    source = mac("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", arch="x86_64", python_arch="x86_64")
    machine = probe({}, source)
    assert machine.arch == "x86_64"
    assert not machine.python.translated
    assert machine.cores == Cores(total=8)
    chosen = default_device(machine)
    assert (chosen.kind, chosen.unused) == ("cpu", "")
    assert "Intel" in chosen.why


def test_mac_without_torch() -> None:
    machine = probe({}, mac())
    assert machine.torch is None
    assert "not installed" in default_device(machine).unused


def test_conda_build_without_mps(tmp_path: Path) -> None:
    torch = install_torch(tmp_path / "env/lib/python3.12", "2.7.1")
    (tmp_path / "env/lib/libtorch_cpu.dylib").write_bytes(dylib(mps=False, macos=(11, 0)))
    machine = probe({}, mac(torch=torch))
    assert machine.torch is not None
    assert machine.torch.mps_built is False
    assert "built without MPS" in default_device(machine).unused


@pytest.mark.parametrize("library", [None, b"", b"short", b"\0" * 4096, dylib(mps=True, macos=(14, 0))[:60]])
def test_a_library_that_cannot_be_read_leaves_mps_open(library: bytes | None, tmp_path: Path) -> None:
    torch = install_torch(tmp_path, library=library)
    machine = probe({}, mac(torch=torch))
    assert machine.torch is not None
    assert machine.torch.mps_built is None
    assert machine.accelerators[0].available is None


def test_linux_without_gpu(tmp_path: Path) -> None:
    machine = probe({}, linux(tmp_path / "root", torch=install_torch(tmp_path, "2.14.1+cpu")))
    assert (machine.os, machine.chip, machine.cores.total) == ("Linux", "Fast CPU 9000", 16)
    assert machine.torch is not None
    assert (machine.torch.version, machine.torch.cuda, machine.torch.mps_built) == (
        "2.14.1+cpu",
        None,
        False,
    )
    assert default_device(machine).why == "no NVIDIA GPU was found"


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        (None, 4),
        ("0,1", 2),
        (" 1 , 3 ", 2),
        ("", 0),
        ("-1", 0),
        ("0,-1,2", 1),
        ("0,7,1", 1),
        ("GPU-8f2a,GPU-11bc", 2),
        ("NoDevFiles", 0),
    ],
)
def test_linux_with_cuda_counts_visible_gpus(visible: str | None, count: int, tmp_path: Path) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    torch = install_torch(tmp_path, "2.14.1+cu130", cuda="13.0")
    machine = probe(environ, linux(tmp_path / "root", gpus=4, torch=torch))
    cuda = machine.accelerator("cuda")
    assert cuda is not None
    assert (cuda.count, cuda.name, cuda.available) == (count, "NVIDIA H200", count > 0)
    assert default_device(machine).kind == ("cuda" if count else "cpu")


def test_linux_gpu_with_a_cpu_build_of_torch_is_said(tmp_path: Path) -> None:
    torch = install_torch(tmp_path, "2.14.1+cpu")
    machine = probe({}, linux(tmp_path / "root", gpus=1, torch=torch))
    assert "built without CUDA" in default_device(machine).unused


def test_cuda_of_windows_seen_from_its_linux(tmp_path: Path) -> None:
    source = linux(tmp_path / "root", torch=install_torch(tmp_path, cuda="13.0"))
    (source.root / "dev/dxg").touch()
    (source.root / "usr/lib/wsl/lib").mkdir(parents=True)
    (source.root / "usr/lib/wsl/lib/libcuda.so.1").touch()
    assert default_device(probe({}, source)).kind == "cuda"


def test_read_torch_of_an_empty_folder(tmp_path: Path) -> None:
    assert read_torch(tmp_path, mac=True) is None
    assert read_torch(None, mac=True) is None


def test_find_package_does_not_import() -> None:
    assert find_package("no_such_package_at_all") is None
    folder = find_package("torch")
    assert folder is not None
    assert (folder / "version.py").is_file()


def test_this_computer_is_described_without_torch() -> None:
    code = (
        "import sys, accelerate.machine.probe as p; m = p.probe(); "
        "assert m.torch, m; assert m.memory_bytes > 2**28, m; assert m.cores.total >= 1, m; "
        "assert 'torch' not in sys.modules; assert 'subprocess' not in sys.modules; print(m.torch.version)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import torch

    assert out.stdout.strip() == torch.__version__


def test_here_reads_the_running_system() -> None:
    source = Source.here()
    assert source.platform == sys.platform
    assert source.executable == sys.executable
    if sys.platform == "darwin":
        assert source.sysctl("hw.memsize")
    assert source.sysctl("no.such.name") is None


def test_the_kernel_of_a_mac_is_asked_through_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        b"machdep.cpu.brand_string": b"Apple M4 Pro\0",
        b"kern.osproductversion": b"15.5\0",
        b"hw.memsize": struct.pack("<Q", 48 * GIB),
        b"hw.optional.arm64": struct.pack("<I", 1),
    }
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_void_p,
        ctypes.c_size_t,
    )

    def kernel(name: bytes, out: int, size: Any, new: None, new_size: int) -> int:
        value = values.get(name)
        if value is None or size[0] < len(value) or new is not None or new_size:
            return -1
        ctypes.memmove(out, value, len(value))
        size[0] = len(value)
        return 0

    class Library:
        sysctlbyname = prototype(kernel)

    def load(name: None) -> type[Library]:
        return Library

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(sys, "platform", "darwin")
    machine = probe()
    assert (machine.os, machine.os_version, machine.chip) == ("macOS", "15.5", "Apple M4 Pro")
    assert machine.memory_bytes == 48 * GIB
    assert machine.arch == "arm64"
    assert not machine.python.translated
    assert machine.cores.total == os.cpu_count()
    assert machine.cores.performance is None
