"""Small helpers that programs import from `accelerate.utils` and that nothing in this package needs."""

from __future__ import annotations

import functools
import platform
import socket
from typing import Any

from packaging.version import InvalidVersion, Version

from accelerate.log import topic

_OLDEST_LINUX = Version("5.5")
_DEFAULT_PORT = 29500


def convert_bytes(size: float) -> str:
    """Return a size in bytes as text in the largest unit that fits, at most PB."""
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if size < 1024:
            return f"{round(size, 2)} {unit}"
        size /= 1024
    return f"{round(size, 2)} PB"


def merge_dicts(source: dict[Any, Any], destination: dict[Any, Any]) -> dict[Any, Any]:
    """Write `source` over `destination`, in place, dictionaries inside them item by item; return it."""
    for key, value in source.items():
        if isinstance(value, dict):
            merge_dicts(value, destination.setdefault(key, {}))
        else:
            destination[key] = value
    return destination


def recursive_getattr(obj: Any, attr: str) -> Any:
    """Return the attribute at the end of a dotted path."""
    return functools.reduce(getattr, attr.split("."), obj)


def get_pretty_name(obj: Any) -> str:
    """Return the name of a class or function, or of the class of any other object."""
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    return str(getattr(named, "__qualname__", None) or named.__name__)


def is_port_in_use(port: int | str | None = None) -> bool:
    """Say whether something on this machine listens on a TCP port; None asks for the launcher's default, 29500."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(("localhost", int(_DEFAULT_PORT if port is None else port))) == 0


def get_free_port() -> int:
    """Return a TCP port that nothing on this machine uses at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def check_os_kernel() -> None:
    """Warn when the Linux kernel is older than 5.5, below which loaders with workers have been seen to hang."""
    if platform.system() != "Linux":
        return
    release = platform.release()
    try:
        version = Version(release.split("-")[0])
    except InvalidVersion:
        return
    if version < _OLDEST_LINUX:
        topic("machine").warning("The Linux kernel is %s; below %s data loaders may hang.", release, _OLDEST_LINUX)
