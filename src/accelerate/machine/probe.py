"""Finds the facts about this computer in a few milliseconds: no torch, no other program is started."""

from __future__ import annotations

import importlib.util
import os
import re
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from accelerate.machine.facts import (
    Accelerator,
    Cores,
    Machine,
    PythonFacts,
    TorchFacts,
    cuda_accelerator,
    mps_accelerator,
)

# PyTorch itself refuses MPS below these versions of macOS, whatever its wheel says.
_MPS_FLOORS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (((2, 9), (14, 0)), ((0, 0), (13, 0)))
_MACHO_64 = 0xFEEDFACF
_LC_BUILD_VERSION = 0x32


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the facts come from. Tests put other values here to describe other machines.

    Args:
        platform: As `sys.platform`.
        release: Version of the kernel.
        arch: What the kernel calls the processor to this process.
        python: Version of Python.
        executable: Path of Python.
        cores: Processors this process may use.
        memory_bytes: Physical memory as POSIX tells it.
        torch: Folder of the package torch, or None.
        sysctl: Reads a value of the macOS kernel; None when it has none of that name.
        root: Folder that holds `proc` and `dev`.
    """

    platform: str
    release: str
    arch: str
    python: str
    executable: str
    cores: int
    memory_bytes: int
    torch: Path | None
    sysctl: Callable[[str], bytes | None]
    root: Path = Path("/")

    @classmethod
    def here(cls) -> Source:
        """The computer that this process runs on."""
        system = os.uname()
        return cls(
            platform=sys.platform,
            release=system.release,
            arch=system.machine,
            python=sys.version.split()[0],
            executable=sys.executable,
            cores=_usable_cores(),
            memory_bytes=_physical_memory(),
            torch=find_package("torch"),
            sysctl=_sysctl if sys.platform == "darwin" else _no_sysctl,
        )


def probe(environ: Mapping[str, str] | None = None, source: Source | None = None) -> Machine:
    """Describe the computer.

    Args:
        environ: The environment variables; only CUDA_VISIBLE_DEVICES is looked at.
        source: Where to look; this computer when None.
    """
    source = source or Source.here()
    if source.platform == "darwin":
        return _probe_mac(source)
    return _probe_other(source, environ or {})


def find_package(name: str) -> Path | None:
    """The folder of an importable package, found without importing it; None when there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def _probe_mac(source: Source) -> Machine:
    translated = _number(source.sysctl("sysctl.proc_translated")) == 1
    silicon = translated or _number(source.sysctl("hw.optional.arm64")) == 1 or source.arch == "arm64"
    arch = "arm64" if silicon else source.arch
    chip = _text(source.sysctl("machdep.cpu.brand_string"))
    version = _text(source.sysctl("kern.osproductversion"))
    python = PythonFacts(version=source.python, arch=source.arch, executable=source.executable, translated=translated)
    torch = read_torch(source.torch, mac=True)
    return Machine(
        os="macOS",
        os_version=version,
        arch=arch,
        chip=chip,
        cores=Cores(
            total=source.cores,
            performance=_number(source.sysctl("hw.perflevel0.physicalcpu")),
            efficiency=_number(source.sysctl("hw.perflevel1.physicalcpu")),
        ),
        memory_bytes=_number(source.sysctl("hw.memsize")) or source.memory_bytes,
        python=python,
        torch=torch,
        accelerators=(mps_accelerator(arch, chip, _two_numbers(version), python, torch),),
    )


def _probe_other(source: Source, environ: Mapping[str, str]) -> Machine:
    torch = read_torch(source.torch, mac=False)
    linux = source.platform == "linux"
    return Machine(
        os="Linux" if linux else source.platform,
        os_version=source.release,
        arch=source.arch,
        chip=_linux_chip(source.root) if linux else "",
        cores=Cores(total=source.cores),
        memory_bytes=source.memory_bytes,
        python=PythonFacts(version=source.python, arch=source.arch, executable=source.executable),
        torch=torch,
        accelerators=(_nvidia(source.root, environ.get("CUDA_VISIBLE_DEVICES"), torch),) if linux else (),
    )


def read_torch(folder: Path | None, mac: bool) -> TorchFacts | None:
    """What the files in the package folder of torch tell; None when there is no such package."""
    text = _head(folder / "version.py", 4096).decode(errors="replace") if folder else ""
    version = _assigned(text, "__version__")
    if folder is None or version is None:
        return None
    built, minimum = _read_dylib(folder) if mac else (False, None)
    return TorchFacts(
        version=version,
        path=str(folder),
        cuda=_assigned(text, "cuda"),
        hip=_assigned(text, "hip"),
        mps_built=built,
        mps_needs=max(filter(None, (_mps_floor(version), minimum))) if built else None,
    )


def _assigned(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\b[^=\n]*=\s*(['\"])(.*?)\1", text, re.MULTILINE)
    return found.group(2) if found else None


def _mps_floor(version: str) -> tuple[int, int]:
    own = _two_numbers(version) or (0, 0)
    return next(floor for since, floor in _MPS_FLOORS if own >= since)


def _read_dylib(folder: Path) -> tuple[bool | None, tuple[int, int] | None]:
    """Whether torch's library links to MPS, and the oldest macOS that it loads on.

    The list of linked frameworks stands in the first few KiB of the file, for wheels, conda and
    own builds alike. Conda keeps the library in the environment's own lib folder.
    """
    for place in (folder / "lib", *(above for above in folder.parents if above.name == "lib")):
        head = _head(place / "libtorch_cpu.dylib", 32)
        if len(head) == 32:
            return _read_commands(_head(place / "libtorch_cpu.dylib", 32 + struct.unpack("<8I", head)[5]))
    return None, None


def _read_commands(header: bytes) -> tuple[bool | None, tuple[int, int] | None]:
    magic, _, _, _, count, size, _, _ = struct.unpack("<8I", header[:32])
    if magic != _MACHO_64 or len(header) < 32 + size:
        return None, None
    minimum, at = None, 32
    for _ in range(count):
        command, length = struct.unpack_from("<2I", header, at)
        if command == _LC_BUILD_VERSION:
            packed = struct.unpack_from("<I", header, at + 12)[0]
            minimum = (packed >> 16, packed >> 8 & 0xFF)
        at += length
    return b"MetalPerformanceShadersGraph.framework" in header, minimum


def _nvidia(root: Path, visible: str | None, torch: TorchFacts | None) -> Accelerator:
    present = sum(1 for path in (root / "dev").glob("nvidia[0-9]*"))
    windows_driver = root / "usr/lib/wsl/lib/libcuda.so.1"
    if not present and (root / "dev/dxg").exists() and windows_driver.exists():
        present = 1
    name = ""
    for path in sorted((root / "proc/driver/nvidia/gpus").glob("*/information")):
        name = _labelled(_head(path, 4096).decode(errors="replace"), "Model")
        break
    shown = present if visible is None else _visible_gpus(visible, present)
    return cuda_accelerator(present, shown, f"CUDA_VISIBLE_DEVICES={visible!r}", name, torch)


def _visible_gpus(visible: str, present: int) -> int:
    """How many GPUs CUDA shows: it stops at the first entry that names none."""
    count = 0
    for entry in visible.split(","):
        entry = entry.strip()
        if not (entry.startswith(("GPU-", "MIG-")) or (entry.isdecimal() and int(entry) < present)):
            break
        count += 1
    return count


def _linux_chip(root: Path) -> str:
    # The whole file is long and slow to make on machines with many cores; the first one is enough.
    return _labelled(_head(root / "proc/cpuinfo", 4096).decode(errors="replace"), "model name")


def _labelled(text: str, label: str) -> str:
    found = re.search(rf"^{label}\s*:\s*(.+?)\s*$", text, re.MULTILINE)
    return found.group(1) if found else ""


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _number(raw: bytes | None) -> int | None:
    return int.from_bytes(raw, "little") if raw else None


def _text(raw: bytes | None) -> str:
    return (raw or b"").rstrip(b"\0").decode(errors="replace")


def _two_numbers(version: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)(?:\.(\d+))?", version)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else None


def _usable_cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _no_sysctl(name: str) -> bytes | None:
    return None


def _sysctl(name: str) -> bytes | None:
    """Ask the macOS kernel through the C library, which is far faster than starting `sysctl`."""
    import ctypes  # not needed elsewhere, and 6 ms

    ask = ctypes.CDLL(None).sysctlbyname
    ask.argtypes = [
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_void_p,
        ctypes.c_size_t,
    ]
    size = ctypes.c_size_t(256)
    value = ctypes.create_string_buffer(size.value)
    if ask(name.encode(), value, ctypes.byref(size), None, 0) != 0:
        return None
    return value.raw[: size.value]
