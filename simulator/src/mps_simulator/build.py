"""Compiles the device against the installed PyTorch, once, into a cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mps_simulator.errors import SimulatorError
from mps_simulator.installed import Torch, mps_operators

CACHE = "MPS_SIMULATOR_CACHE"
SOURCES = Path(__file__).parent / "csrc"
FLAGS = ("-std=c++20", "-O1", "-g0", "-fPIC", "-shared", "-fvisibility=hidden")
_COMPILERS = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Built:
    """What a build leaves in the cache.

    Args:
        library: The shared library.
        operators: A text file with the names of the operators that a Mac has, one a line.
    """

    library: Path
    operators: Path


def build(torch: Torch, environment: Mapping[str, str]) -> Built:
    """The device for this PyTorch, compiled if that was not done before.

    Processes that start at once wait for the first of them. A build that was cut off leaves nothing behind that
    another could mistake for a whole one.

    Raises:
        SimulatorError: No compiler, it fails, or the cache folder cannot be written.
    """
    root = _cache(environment)
    folder = root / _name(torch)
    built = Built(folder / "libmps_simulator.so", folder / "operators.txt")
    if folder.is_dir():
        return built
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _lock(root / f"{folder.name}.lock"):
            if not folder.is_dir():
                _make(torch, folder, environment)
    except OSError as error:
        fix = f"Set {CACHE} to a folder that can."
        raise SimulatorError(f"The cache folder {root} cannot be written: {error.strerror}. {fix}") from None
    return built


def _cache(environment: Mapping[str, str]) -> Path:
    if environment.get(CACHE):
        return Path(environment[CACHE]).expanduser()
    home = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "mps_simulator"


def _name(torch: Torch) -> str:
    """One for each PyTorch, processor and state of the sources."""
    state = hashlib.sha256(" ".join([torch.version, torch.commit, platform.machine(), *FLAGS]).encode())
    for source in sorted(SOURCES.iterdir()):
        state.update(source.name.encode())
        state.update(source.read_bytes())
    return f"torch-{torch.version}-{state.hexdigest()[:12]}"


@contextmanager
def _lock(path: Path) -> Generator[None]:
    """Hold a lock that the system takes back from a process that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(torch: Torch, folder: Path, environment: Mapping[str, str]) -> None:
    compiler = _compiler(environment)
    print(f"mps-simulator: compiling for PyTorch {torch.version}, once (about half a minute)", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as name:
        work = Path(name) / "made"
        work.mkdir()
        (work / "operators.txt").write_text("\n".join(mps_operators(torch)))
        _compile(torch, compiler, work / "libmps_simulator.so")
        work.rename(folder)


def _compiler(environment: Mapping[str, str]) -> list[str]:
    given = shlex.split(environment.get("CXX", ""))
    if given:
        if shutil.which(given[0]) is None:
            raise SimulatorError(f"CXX names the C++ compiler {given[0]!r}, which cannot be run.")
        return given
    for name in _COMPILERS:
        if shutil.which(name):
            return [name]
    raise SimulatorError(
        "No C++ compiler was found, and the device must be compiled for this PyTorch. "
        "Install g++ or clang++, or name one in CXX."
    )


def _compile(torch: Torch, compiler: list[str], library: Path) -> None:
    """One translation unit: PyTorch's headers take most of the time, and are read once."""
    unit = library.with_suffix(".cpp")
    unit.write_text("".join(f'#include "{source}"\n' for source in sorted(SOURCES.glob("*.cpp"))))
    include = torch.folder / "include"
    headers = ["-isystem", str(include), "-isystem", str(include / "torch" / "csrc" / "api" / "include")]
    links = [f"-L{torch.libraries}", "-ltorch_cpu", "-lc10"]
    command = [*compiler, *FLAGS, *headers, f"-I{SOURCES}", str(unit), "-o", str(library), *links]
    done = subprocess.run(command, capture_output=True, text=True, env=_plain(os.environ), check=False)
    unit.unlink()
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
        reason = errors[0].strip() if errors else f"status {done.returncode}"
        raise SimulatorError(f"{shlex.join(compiler)} cannot compile for PyTorch {torch.version}: {reason}")


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """Messages in English, so that they can be searched."""
    return {**environment, "LC_ALL": "C"}
