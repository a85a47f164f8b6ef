"""What every test is held to: no run, logger or environment variable outlives it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# pytest names the running test; torch's compiler, when it is first used, names its caches and tools.
_SET_BY_OTHERS = ("PYTEST_CURRENT_TEST", "TORCHINDUCTOR_", "TRITON_")


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """End the run that a test has started, and fail the test when it leaves the environment changed."""
    variables, handlers, level = dict(os.environ), list(logging.root.handlers), logging.root.level
    yield
    _end_run()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    changed = sorted(
        name
        for name in {*variables, *os.environ}
        if variables.get(name) != os.environ.get(name) and not name.startswith(_SET_BY_OTHERS)
    )
    if changed:
        os.environ.clear()
        os.environ.update(variables)
        pytest.fail(f"the test left environment variables changed: {changed}")


def _end_run() -> None:
    # Tests of the torch-free half must not pay for torch here.
    loaded: dict[str, Any] = sys.modules
    if "accelerate.training.accumulation" in loaded:
        loaded["accelerate.training.accumulation"].GradientState._reset_state()
    if "accelerate.runtime" in loaded:
        loaded["accelerate.runtime"].stop()
    if "accelerate.state" in loaded:
        loaded["accelerate.state"].AcceleratorState._reset_state()
