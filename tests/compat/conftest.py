"""What the tests of the surface look at."""

from __future__ import annotations

import pytest

from accelerate import Accelerator


@pytest.fixture
def accelerator() -> Accelerator:
    """An Accelerator on the CPU."""
    return Accelerator(cpu=True)
