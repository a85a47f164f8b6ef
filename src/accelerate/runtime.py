"""The run that this process is part of: decided once, then handed around."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch

from accelerate import log, topology
from accelerate.devices import registry
from accelerate.devices.base import DeviceBackend
from accelerate.distributed.collectives import Alone, Collectives
from accelerate.errors import DeviceError, LaunchError
from accelerate.launch import environment
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.precision.base import Precision
from accelerate.precision.full import FULL
from accelerate.settings.resolve import Resolved
from accelerate.settings.sections import Settings
from accelerate.settings.sources import Provenance
from accelerate.strategies.base import Strategy
from accelerate.strategies.single import Single
from accelerate.topology import Topology


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Everything that was decided about this process's run.

    `precision` and `compile` are those of `AcceleratorState`, which chooses them; until then they are full precision
    and no compilation.
    """

    settings: Settings
    provenance: Provenance
    topology: Topology
    device: torch.device
    backend: DeviceBackend
    device_why: str
    collectives: Collectives
    strategy: Strategy
    precision: Precision = FULL
    compile: TorchDynamoPlugin = field(default_factory=TorchDynamoPlugin)


SHARED: dict[str, Any] = {}
"""What all `PartialState` objects share, the run among it; empty when none is running."""


def running() -> Runtime | None:
    """Return the run of this process, or None before the first `start`."""
    return SHARED.get("runtime")


def current() -> Runtime:
    """Return the run of this process; starts one from the environment when there is none."""
    return running() or start()


def start(kwargs: Mapping[str, object] | None = None) -> Runtime:
    """Decide what kind of run this process is part of, and make it the current one.

    Args:
        kwargs: Knob name (`section.field`) -> value, for what the script says itself.

    Raises:
        ConfigError: A variable or argument has a value that is not allowed.
        DeviceError: The device that was asked for is not there.
        LaunchError: This is one of several processes.
    """
    resolved = environment.read(kwargs)
    position = topology.detect(environment.variables)
    if position.world > 1:
        raise LaunchError(
            f"This is process {position.rank} of {position.world}, as its environment variables say.",
            "This version trains with one process: several would each train a model of their own.",
            "Start one process.",
        )
    backend, why = _choose_device(resolved)
    _warn_of_late_fallback(resolved, backend)
    runtime = Runtime(
        settings=resolved.settings,
        provenance=resolved.provenance,
        topology=position,
        device=backend.claim(_device_index(resolved.settings, position)),
        backend=backend,
        device_why=why,
        collectives=Alone(),
        strategy=Single(),
    )
    SHARED["runtime"] = runtime
    log.attach(log.Speaker(position.rank, position.local_rank, position.world, runtime.collectives.barrier))
    if not isinstance(sys.excepthook, _AdvisingHook):
        sys.excepthook = _AdvisingHook(sys.excepthook)
    return runtime


def change(**changes: Any) -> Runtime:
    """Put other objects in the place of fields of the current run, and return the new one."""
    runtime = dataclasses.replace(current(), **changes)
    SHARED["runtime"] = runtime
    return runtime


def move_to_cpu() -> Runtime:
    """Let the current run use the CPU from now on; what lives on another device already stays there."""
    chosen = registry.choose(cpu=True)
    return change(backend=chosen.backend, device=chosen.backend.claim(0), device_why=chosen.why, precision=FULL)


def stop() -> None:
    """Forget the current run; the next `current` starts a new one."""
    SHARED.clear()
    log.attach(log.Speaker())
    if isinstance(sys.excepthook, _AdvisingHook):
        sys.excepthook = sys.excepthook.previous


def _choose_device(resolved: Resolved) -> tuple[DeviceBackend, str]:
    wanted = resolved.settings.device.torch_device
    if resolved.settings.device.cpu or not wanted:
        chosen = registry.choose(cpu=resolved.settings.device.cpu)
        return chosen.backend, chosen.why
    backend, origin = registry.get(wanted.split(":")[0]), resolved.provenance["device.torch_device"]
    found = backend.available()
    if not found.available:
        raise DeviceError(
            f"The device is to be {wanted!r} (from {origin}), but {found.why}.",
            fix=f"Unset {origin} to use the best device of this machine.",
        )
    return backend, f"{origin} asks for it"


def _device_index(settings: Settings, position: Topology) -> int:
    """Return the number of this process's device among those of its kind: `cuda:1` names one, else each has its own."""
    named = (settings.device.torch_device or "").partition(":")[2]
    return int(named) if named.isdigit() and not settings.device.cpu else position.local_rank


def _warn_of_late_fallback(resolved: Resolved, backend: DeviceBackend) -> None:
    variable = backend.traits.fallback_env
    if resolved.settings.device.mps_fallback and variable and not environment.get(variable):
        log.topic("devices").warning(
            "The CPU fallback for operators is asked for (%s), but torch heeds it only when %s=1 is set before it "
            "starts. Start the script with `accelerate launch --mps_fallback`.",
            resolved.provenance["device.mps_fallback"],
            variable,
        )


class _AdvisingHook:
    """Prints the current device's advice after the traceback of an error that ends the program."""

    def __init__(self, previous: Any) -> None:
        self.previous = previous

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        self.previous(kind, error, traceback)
        runtime = running()
        hint = None if runtime is None else runtime.backend.hint(error)
        if hint is not None:
            print(hint, file=sys.stderr)
