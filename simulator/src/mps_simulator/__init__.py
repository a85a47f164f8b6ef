"""A simulated Apple GPU: `device="mps"` of stock PyTorch on Linux, with a Mac's rules and refusals."""

from __future__ import annotations

from importlib import import_module

# As type checkers understand it, without the import of typing, which costs 15 ms in every process.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mps_simulator.activation import activate, active
    from mps_simulator.errors import SimulatorError
    from mps_simulator.settings import Settings

__all__ = ["Settings", "SimulatorError", "activate", "active"]

_HOMES = {"Settings": "settings", "SimulatorError": "errors", "activate": "activation", "active": "activation"}


def __getattr__(name: str) -> object:
    """Import what is asked for: the start-up hook passes here in every simulated process, and needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
