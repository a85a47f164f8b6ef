"""Makes this process, and those it will start, simulated."""

from __future__ import annotations

import ctypes
import os
import sys
from types import ModuleType

from mps_simulator import mps_api, startup
from mps_simulator.build import build
from mps_simulator.errors import SimulatorError
from mps_simulator.installed import find_torch
from mps_simulator.preload import preload
from mps_simulator.settings import Settings, settings


def active() -> Settings | None:
    """The Mac that this process simulates, or None."""
    return settings(os.environ) if startup.waiting() else None


def activate(
    *,
    memory: str | None = None,
    macos: str | None = None,
    chip: str | None = None,
    strict: bool | None = None,
    report: str | None = None,
    quiet: bool = False,
) -> Settings:
    """Simulate a Mac's GPU from now on. Must be called before torch is imported.

    Processes that are started from now on are simulated too. The first call for a PyTorch compiles, for about half a
    minute. A second call in the same process changes nothing.

    Args:
        memory: The memory of the Mac, such as "8GB"; like the others, else taken from the environment.
        macos: Its version of macOS, such as "14.5".
        chip: Its chip, such as "Apple M2".
        strict: Whether what corrupts silently on a Mac raises an error.
        report: Where a report goes at exit: "text" for stderr, a path for JSON, or both with a comma between them.
        quiet: Do not say on stderr that the device is simulated.

    Returns:
        The Mac that is simulated.

    Raises:
        SimulatorError: It cannot be done here, or no longer.
    """
    before = active()
    if before is not None:
        wanted = settings(os.environ, memory=memory, macos=macos, chip=chip, strict=strict, report=report)
        return _check_same(before, wanted)
    chosen = prepare(memory=memory, macos=macos, chip=chip, strict=strict, report=report)
    if "torch" in sys.modules:
        raise SimulatorError("torch is already imported; the simulated mps must be activated before that.")
    os.environ.update(chosen.variables())
    startup.wait_for_torch()
    if not quiet:
        announce(chosen)
    return chosen


def prepare(
    *,
    memory: str | None = None,
    macos: str | None = None,
    chip: str | None = None,
    strict: bool | None = None,
    report: str | None = None,
) -> Settings:
    """Check what activation needs, and compile, without activating.

    Raises:
        SimulatorError: It cannot be done here.
    """
    if sys.platform == "darwin":
        raise SimulatorError("This is a real Mac: its own mps needs no simulation.")
    if not sys.platform.startswith("linux"):
        raise SimulatorError(f"mps can be simulated on Linux only, and this is {sys.platform}.")
    chosen = settings(os.environ, memory=memory, macos=macos, chip=chip, strict=strict, report=report)
    build(find_torch(), os.environ)
    return chosen


def announce(chosen: Settings) -> None:
    """Say in one line what this is."""
    version = ".".join(str(part) for part in chosen.macos)
    memory = f"{chosen.memory / (1 << 30):.4g} GB"
    print(
        f"mps-simulator: mps is simulated on the CPU ({chosen.chip}, {memory}, macOS {version}); "
        "speed and Metal's rounding are not.",
        file=sys.stderr,
    )


def _check_same(before: Settings, now: Settings) -> Settings:
    if before != now:
        raise SimulatorError(f"This process simulates {before} already, and cannot change to {now}.")
    return before


def before_torch() -> ctypes.CDLL:
    """Load the device. Ends the program in one line when that cannot be done: nothing would be simulated."""
    try:
        chosen, torch = settings(os.environ), find_torch()
        return preload(torch, build(torch, os.environ), chosen)
    except SimulatorError as error:
        print(f"mps-simulator: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def after_torch(torch: ModuleType, device: ctypes.CDLL) -> None:
    """Complete the freshly imported torch, and watch its device if that is wanted."""
    chosen = settings(os.environ)
    mps_api.install(torch, chosen)
    if chosen.strict or chosen.report:
        from mps_simulator.watch import Watch

        Watch(device, torch, chosen)
