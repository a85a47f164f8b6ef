"""Seeds and generator states."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import torch

from accelerate.devices import registry
from accelerate.errors import ConfigError
from accelerate.plugins.enums import RNGType
from accelerate.runtime import current


def set_seed(seed: int, device_specific: bool = False, deterministic: bool = False) -> None:
    """Seed Python, numpy and torch, the generators of all devices included.

    Args:
        seed: The seed.
        device_specific: Whether each process adds its rank to it.
        deterministic: Whether torch is told to use deterministic algorithms only; it then raises where it has none.
    """
    if device_specific:
        seed += current().topology.rank
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if deterministic:
        torch.use_deterministic_algorithms(True)


def synchronize_rng_state(rng_type: RNGType | str | None = None, generator: torch.Generator | None = None) -> None:
    """Give every process rank 0's state of one generator. Collective: all ranks.

    Args:
        rng_type: `torch`, the name of a device kind, or `generator` for the one that is passed.
        generator: A loader's own generator; without one, `generator` does nothing.

    Raises:
        ConfigError: There is no such generator.
        DeviceError: The device kind is not known.
    """
    collectives = current().collectives
    kind = str(rng_type)
    if kind == str(RNGType.GENERATOR):
        if generator is not None:
            generator.set_state(collectives.broadcast(generator.get_state()))
    elif kind == str(RNGType.TORCH):
        torch.set_rng_state(collectives.broadcast(torch.get_rng_state()))
    elif kind in registry.kinds():
        backend = registry.get(kind)
        if backend.available().available:
            backend.set_rng_state(collectives.broadcast(backend.rng_state()))
    else:
        allowed = ", ".join((str(RNGType.TORCH), str(RNGType.GENERATOR), *registry.kinds()))
        raise ConfigError(f"The generator type is {kind!r}.", f"Known on this machine are {allowed}.")


def synchronize_rng_states(rng_types: Iterable[RNGType | str], generator: torch.Generator | None = None) -> None:
    """Give every process rank 0's state of several generators. Collective: all ranks. See `synchronize_rng_state`."""
    for rng_type in rng_types:
        synchronize_rng_state(rng_type, generator)
