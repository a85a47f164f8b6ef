"""The random generators of a process: Python's, numpy's, torch's and those of its devices."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

from accelerate.devices.base import DeviceBackend
from accelerate.errors import CheckpointError
from accelerate.log import topic

_PYTHON, _NUMPY, _TORCH = "random_state", "numpy_random_seed", "torch_manual_seed"


def capture(devices: Iterable[DeviceBackend]) -> dict[str, Any]:
    """Return the states of all generators of this process, under the names that checkpoints use."""
    states: dict[str, Any] = {
        _PYTHON: random.getstate(),
        _NUMPY: np.random.get_state(),
        _TORCH: torch.get_rng_state(),
    }
    for device in devices:
        if device.traits.rng_key is not None:
            states[device.traits.rng_key] = device.rng_state()
    return states


def restore(states: Mapping[str, Any], devices: Iterable[DeviceBackend]) -> None:
    """Set the generators of this process. States of devices that are not here are passed over.

    Raises:
        CheckpointError: A state is none of its generator.
    """
    _restore(states, _PYTHON, random.setstate)
    _restore(states, _NUMPY, np.random.set_state)
    _restore(states, _TORCH, torch.set_rng_state)
    for device in devices:
        if device.traits.rng_key is not None:
            _restore(states, device.traits.rng_key, _setter(device))


def _setter(device: DeviceBackend) -> Callable[[Any], None]:
    def set_states(states: Any) -> None:
        device.set_rng_state([states] if isinstance(states, torch.Tensor) else list(states))

    return set_states


def _restore(states: Mapping[str, Any], key: str, setter: Callable[[Any], object]) -> None:
    if key not in states:
        topic("checkpoint").warning("The checkpoint has no %s: that random generator goes on as it is.", key)
        return
    try:
        setter(states[key])
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        raise CheckpointError(
            f"The random state {key} in the checkpoint cannot be used: {error}.",
            "It is of another version of the library, or damaged.",
            "Load another checkpoint.",
        ) from error
