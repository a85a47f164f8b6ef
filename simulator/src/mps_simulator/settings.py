"""Which Mac is simulated, and how that reaches other processes: environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mps_simulator.errors import SimulatorError
from mps_simulator.startup import SWITCH

MEMORY = "MPS_SIMULATOR_MEMORY"
MACOS = "MPS_SIMULATOR_MACOS"
CHIP = "MPS_SIMULATOR_CHIP"
STRICT = "MPS_SIMULATOR_STRICT"
REPORT = "MPS_SIMULATOR_REPORT"

TEXT = "text"  # the target of a report that is stderr

GIB = 1 << 30
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}

# The largest number of GPU cores that each chip was sold with.
GPU_CORES = {
    "Apple M1": 8,
    "Apple M1 Pro": 16,
    "Apple M1 Max": 32,
    "Apple M1 Ultra": 64,
    "Apple M2": 10,
    "Apple M2 Pro": 19,
    "Apple M2 Max": 38,
    "Apple M2 Ultra": 76,
    "Apple M3": 10,
    "Apple M3 Pro": 18,
    "Apple M3 Max": 40,
    "Apple M3 Ultra": 80,
    "Apple M4": 10,
    "Apple M4 Pro": 20,
    "Apple M4 Max": 40,
    "Apple M5": 10,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The simulated Mac, and what is watched on it.

    Args:
        memory: Its memory in bytes, which the CPU and the GPU of a Mac share.
        macos: Its version of macOS, (major, minor).
        chip: The name of its chip, a key of `GPU_CORES`.
        strict: Whether what corrupts silently on a Mac raises an error.
        report: Where the report at exit goes: `TEXT` and paths, with commas between them; empty for nowhere.
    """

    memory: int = 16 * GIB
    macos: tuple[int, int] = (15, 0)
    chip: str = "Apple M2"
    strict: bool = False
    report: str = ""

    @property
    def recommended_memory(self) -> int:
        """Bytes that Metal recommends to use at most: two thirds of a small memory, three quarters of a large one."""
        return self.memory * 2 // 3 if self.memory <= 36 * GIB else self.memory * 3 // 4

    @property
    def max_buffer(self) -> int:
        """Bytes in the largest buffer that Metal makes."""
        return self.recommended_memory * 3 // 4

    @property
    def cores(self) -> int:
        """Cores of the GPU."""
        return GPU_CORES[self.chip]

    def variables(self) -> dict[str, str]:
        """The environment variables that start the same simulation in another process."""
        version = ".".join(str(part) for part in self.macos)
        watched = {STRICT: str(int(self.strict)), REPORT: self.report}
        return {SWITCH: "1", MEMORY: str(self.memory), MACOS: version, CHIP: self.chip, **watched}


def settings(
    environment: Mapping[str, str],
    *,
    memory: str | None = None,
    macos: str | None = None,
    chip: str | None = None,
    strict: bool | None = None,
    report: str | None = None,
) -> Settings:
    """The settings as texts give them; what is None is taken from the environment, then from the defaults.

    Raises:
        SimulatorError: A text that cannot be understood.
    """
    default = Settings()
    size, size_from = _first((memory, "--memory"), (environment.get(MEMORY), MEMORY))
    version, version_from = _first((macos, "--macos"), (environment.get(MACOS), MACOS))
    name, name_from = _first((chip, "--chip"), (environment.get(CHIP), CHIP))
    return Settings(
        memory=default.memory if size is None else _memory(size, size_from),
        macos=default.macos if version is None else _macos(version, version_from),
        chip=default.chip if name is None else _chip(name, name_from),
        strict=_strict(environment.get(STRICT, "")) if strict is None else strict,
        report=_report(*_first((report, "--report-json"), (environment.get(REPORT, ""), REPORT))),
    )


def _first(*given: tuple[str | None, str]) -> tuple[str | None, str]:
    return next((pair for pair in given if pair[0] is not None), (None, ""))


def _memory(text: str, where: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    size = int(float(found[1]) * (1 << _UNITS[found[2].lower()])) if found else 0
    if size < GIB:
        raise SimulatorError(f"{where} is {text!r}; it must be a size of at least 1GB, such as 8GB.")
    return size


def _macos(text: str, where: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*(\d+)(?:\.(\d+))?(?:\.\d+)?\s*", text)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if version < (14, 0):
        raise SimulatorError(f"{where} is {text!r}; it must be a version of macOS that PyTorch runs on: 14.0 or later.")
    return version


def _chip(text: str, where: str) -> str:
    known = {name.lower(): name for name in GPU_CORES}
    short = text.strip().lower()
    found = known.get(short) or known.get(f"apple {short}")
    if found is None:
        names = ", ".join(name.removeprefix("Apple ") for name in GPU_CORES)
        raise SimulatorError(f"{where} is {text!r}; it must be one of: {names}.")
    return found


def _strict(text: str) -> bool:
    if text not in ("", "0", "1"):
        raise SimulatorError(f"{STRICT} is {text!r}; it must be 1 or 0.")
    return text == "1"


def _report(text: str | None, where: str) -> str:
    """The targets, with paths that stay the same when the program changes its folder."""
    if not text or text == "0":
        return ""
    return ",".join(TEXT if target in (TEXT, "1") else _path(target, where) for target in text.split(","))


def _path(text: str, where: str) -> str:
    path = Path(text).expanduser().absolute()
    if not text or path.is_dir() or not path.parent.is_dir():
        raise SimulatorError(f"{where} is {text!r}; it must be the path of a file, in a folder that exists.")
    return str(path)
