"""Where programs look for seeds."""

from __future__ import annotations

from accelerate.seeds import set_seed, synchronize_rng_state, synchronize_rng_states

__all__ = [
    "set_seed",
    "synchronize_rng_state",
    "synchronize_rng_states",
]
