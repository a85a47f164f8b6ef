"""Packages whose names are imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import lazy_loader

from accelerate import notbuilt

if TYPE_CHECKING:
    from collections.abc import Callable


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    The stub beside `file` lists the names. Modules of the package are found too, so that `import accelerate` is enough
    for `accelerate.utils.random`; what this version lacks is refused with the reason, see
    `notbuilt`.
    """
    find, list_names, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        stand_in = notbuilt.find(package, name)
        if stand_in is not None:
            return stand_in
        if name not in names and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        return find(name)

    return get, list_names, names
