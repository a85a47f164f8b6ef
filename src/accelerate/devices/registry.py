"""Which device kinds exist, and which one a run uses."""

from __future__ import annotations

from dataclasses import dataclass

from accelerate.devices.base import DeviceBackend
from accelerate.devices.cpu import CpuBackend
from accelerate.devices.cuda import CudaBackend
from accelerate.devices.mps import MpsBackend
from accelerate.errors import DeviceError

_CPU = CpuBackend()
# In the order in which a run prefers them; the CPU is what is left.
_backends: dict[str, DeviceBackend] = {backend.kind: backend for backend in (CudaBackend(), MpsBackend(), _CPU)}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The device kind of a run, with the reason in words."""

    backend: DeviceBackend
    why: str


def register(backend: DeviceBackend) -> DeviceBackend | None:
    """Add `backend` before all others, in the place of one of the same kind, which is returned."""
    global _backends
    replaced = _backends.get(backend.kind)
    others = {kind: other for kind, other in _backends.items() if kind != backend.kind}
    _backends = {backend.kind: backend, **others}
    return replaced


def unregister(kind: str) -> None:
    """Take the device kind `kind` out, for instance one that a test has added."""
    del _backends[kind]


def kinds() -> tuple[str, ...]:
    """Return the names of all known device kinds, in order of preference."""
    return tuple(_backends)


def every() -> tuple[DeviceBackend, ...]:
    """Return all known device kinds, whether they are on this machine or not."""
    return tuple(_backends.values())


def present() -> tuple[DeviceBackend, ...]:
    """Return the device kinds that this machine has, the CPU included, in order of preference."""
    return tuple(backend for backend in _backends.values() if backend.available().available)


def find(kind: str) -> DeviceBackend | None:
    """Return the backend of the device kind `kind`, or None for kinds that torch knows and we do not, as `meta`."""
    return _backends.get(kind)


def get(kind: str) -> DeviceBackend:
    """Return the backend of the device kind `kind`.

    Raises:
        DeviceError: The kind is not known.
    """
    backend = find(kind)
    if backend is None:
        raise DeviceError(f"The device kind is {kind!r}.", f"Known kinds are {', '.join(_backends)}.")
    return backend


def choose(cpu: bool = False) -> Chosen:
    """Return the device kind that a run uses: the best one present, or the CPU when `cpu` asks for it."""
    if cpu:
        return Chosen(_CPU, "the CPU was asked for")
    passed_over: list[str] = []
    for backend in _backends.values():
        found = backend.available()
        if found.available and backend is not _CPU:
            return Chosen(backend, found.why)
        if not found.available:
            passed_over.append(found.why)
    return Chosen(_CPU, "; ".join(passed_over) or "no other device kind is known")
