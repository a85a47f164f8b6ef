"""Stand-ins for libraries: modules whose every attribute can be called, and that record what happens to them."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

Call = tuple[Any, ...]


class Recorded:
    """An object of a stand-in. Attributes, items and results of calls are such objects too.

    Args:
        name: How it came about, for instance `wandb.init()`.
        calls: Where calls are noted: (name, positional arguments, keywords).
    """

    def __init__(self, name: str, calls: list[Call]) -> None:
        vars(self).update(_name=name, _calls=calls)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        child = Recorded(f"{self._name}.{name}", self._calls)
        vars(self)[name] = child
        return child

    def __setattr__(self, name: str, value: object) -> None:
        self._calls.append((f"{self._name}.{name} =", value))
        vars(self)[name] = value

    def __setitem__(self, key: str, value: object) -> None:
        self._calls.append((f"{self._name}[{key}] =", value))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._calls.append((self._name, args, kwargs))
        return Recorded(f"{self._name}()", self._calls)

    def __repr__(self) -> str:
        return f"<{self._name}>"


def install(patch: pytest.MonkeyPatch, *modules: str) -> list[Call]:
    """Put stand-ins for `modules`, parents first, in the place of the real ones, and return the list of calls."""
    calls: list[Call] = []
    for name in modules:
        module = types.ModuleType(name)
        module.__path__ = []

        def attribute(child: str, module: types.ModuleType = module) -> Any:
            if child.startswith("__"):
                raise AttributeError(child)
            found = Recorded(f"{module.__name__}.{child}", calls)
            setattr(module, child, found)
            return found

        vars(module)["__getattr__"] = attribute
        patch.setitem(sys.modules, name, module)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    return calls
