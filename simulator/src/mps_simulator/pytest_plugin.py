"""`pytest -p mps_simulator.pytest_plugin`: tests run on the simulated device, or on that of a real Mac."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mps_simulator.activation import activate, active
from mps_simulator.errors import SimulatorError

if TYPE_CHECKING:
    import torch

# At import, because plugins named by -p come before conftest.py, which may import torch.
if sys.platform != "darwin":
    try:
        activate(quiet=active() is not None)
    except SimulatorError as error:
        raise pytest.UsageError(f"mps-simulator: {error}") from None


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", "mps_simulated: relies on the simulation, so it is skipped on the GPU of a real Mac"
    )


def pytest_report_header() -> str | None:
    """Say which device the tests run on."""
    chosen = active()
    return None if chosen is None else f"mps: simulated {chosen.chip}, {chosen.memory >> 30} GB"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what relies on the simulation where there is none."""
    if item.get_closest_marker("mps_simulated") and active() is None:
        pytest.skip("the mps device is real here")


@pytest.fixture
def mps_device() -> torch.device:
    """The mps device."""
    import torch

    return torch.device("mps")
