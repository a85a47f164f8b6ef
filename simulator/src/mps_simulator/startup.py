"""Waits for the import of torch. Kept small: it runs at the start of every simulated process, torch or not."""

from __future__ import annotations

import os
import sys

# As type checkers understand it, without the import of typing, which costs 15 ms in every process.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

SWITCH = "MPS_SIMULATOR"  # set to 1 in every process that is simulated


class TorchFinder:
    """Finds torch as any other finder does, and lets the device be loaded before it and completed after it."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of torch; None for everything else."""
        if fullname != "torch":
            return None
        from importlib.util import find_spec

        # Once is enough, and the search must not come back here.
        sys.meta_path.remove(TorchFinder)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            _surround(spec.loader)
        return spec


def _surround(loader: Loader) -> None:
    """Change the one method, not the loader: tools look at its type and ask it for the source."""
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        from mps_simulator.activation import after_torch, before_torch

        device = before_torch()
        load(module)
        after_torch(module, device)

    setattr(loader, "exec_module", exec_module)  # noqa: B010


_waiting = False


def waiting() -> bool:
    """Whether this process is simulated."""
    return _waiting


def wait_for_torch() -> None:
    """Make this process simulated, as the environment says, from the import of torch on."""
    global _waiting
    if not _waiting:
        _waiting = True
        sys.meta_path.insert(0, TorchFinder)


def resume() -> None:
    """What the start-up hook calls when the environment speaks of the simulation."""
    if os.environ[SWITCH] == "1" and "torch" not in sys.modules:
        wait_for_torch()
