"""Computers to test with: Macs of several kinds, Linux with and without GPUs."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from accelerate.machine.probe import Source

GIB = 2**30
MPS_FRAMEWORK = b"/System/Library/Frameworks/MetalPerformanceShadersGraph.framework/MetalPerformanceShadersGraph\0"


def dylib(mps: bool, macos: tuple[int, int]) -> bytes:
    """The head of a Mach-O library: the macOS it is built for and, with `mps`, a link to that framework."""
    commands = [struct.pack("<6I", 0x32, 24, 1, macos[0] << 16 | macos[1] << 8, 0, 0)]
    if mps:
        name = MPS_FRAMEWORK.ljust(-(-len(MPS_FRAMEWORK) // 8) * 8, b"\0")
        commands.append(struct.pack("<6I", 0x80000018, 24 + len(name), 24, 2, 0, 0) + name)
    body = b"".join(commands)
    return struct.pack("<8I", 0xFEEDFACF, 0x100000C, 0, 6, len(commands), len(body), 0, 0) + body + b"code" * 9


def install_torch(
    folder: Path, version: str = "2.14.1", *, cuda: str | None = None, library: bytes | None = None
) -> Path:
    """Write the few files of a torch package that the probe reads; gives back its folder."""
    package = folder / "site-packages/torch"
    (package / "lib").mkdir(parents=True)
    (package / "version.py").write_text(
        "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
        f"__version__ = {version!r}\ndebug = False\n"
        f"cuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None\n"
    )
    if library is not None:
        (package / "lib/libtorch_cpu.dylib").write_bytes(library)
    return package


def mac(
    chip: str = "Apple M1",
    macos: str = "15.3",
    *,
    gib: int = 8,
    cores: tuple[int, int] = (4, 4),
    arch: str = "arm64",
    python_arch: str = "arm64",
    torch: Path | None = None,
) -> Source:
    """A Mac; `python_arch` x86_64 on an arm64 one means Rosetta."""
    kernel: dict[str, bytes] = {
        "machdep.cpu.brand_string": chip.encode() + b"\0",
        "kern.osproductversion": macos.encode() + b"\0",
        "hw.memsize": struct.pack("<Q", gib * GIB),
    }
    if arch == "arm64":
        kernel["hw.optional.arm64"] = struct.pack("<I", 1)
        kernel["sysctl.proc_translated"] = struct.pack("<I", int(python_arch != "arm64"))
        kernel["hw.perflevel0.physicalcpu"] = struct.pack("<I", cores[0])
        kernel["hw.perflevel1.physicalcpu"] = struct.pack("<I", cores[1])
    return Source(
        platform="darwin",
        release="24.3.0",
        arch=python_arch,
        python="3.12.9",
        executable="/opt/homebrew/bin/python3",
        cores=sum(cores),
        memory_bytes=1,
        torch=torch,
        sysctl=kernel.get,
    )


def linux(root: Path, *, gpus: int = 0, gpu: str = "NVIDIA H200", torch: Path | None = None) -> Source:
    """A Linux machine whose `proc` and `dev` are written under `root`."""
    (root / "proc").mkdir(parents=True)
    (root / "proc/cpuinfo").write_text("processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast CPU 9000\n")
    (root / "dev").mkdir()
    for index in range(gpus):
        (root / f"dev/nvidia{index}").touch()
        (root / f"proc/driver/nvidia/gpus/0000:0{index}:00.0").mkdir(parents=True)
        (root / f"proc/driver/nvidia/gpus/0000:0{index}:00.0/information").write_text(f"Model: \t\t {gpu}\n")
    if gpus:
        (root / "dev/nvidiactl").touch()
        (root / "dev/nvidia-uvm").touch()
    missing: Mapping[str, bytes] = {}
    return Source(
        platform="linux",
        release="6.8.0",
        arch="x86_64",
        python="3.11.7",
        executable="/usr/bin/python3",
        cores=16,
        memory_bytes=64 * GIB,
        torch=torch,
        sysctl=missing.get,
        root=root,
    )
