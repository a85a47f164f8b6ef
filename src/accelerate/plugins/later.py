"""Option classes of engines and strategies that this version does not drive.

Programs import these names at their top, so the names exist; making an instance raises a `ConfigError` that
says what to use instead. One table, `LATER`, lists them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, NoReturn

from accelerate.errors import ConfigError


class Undriven:
    """Base of the classes of this module; no instance can exist."""

    engine: str = ""
    instead: str = ""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse, whatever the arguments.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"{cls.__name__}: this version does not drive {cls.engine}.", "", cls.instead)


class _Entry(NamedTuple):
    engine: str
    instead: str


_ONE_DEVICE = "Train on one device, and save memory with mixed_precision and gradient accumulation."
_HALF = 'Use mixed_precision="bf16".'
_FSDP = _Entry("fully sharded data parallelism", _ONE_DEVICE)
_DEEPSPEED = _Entry("DeepSpeed", _ONE_DEVICE)
_PARALLEL = _Entry("tensor, context or sequence parallelism", "Leave it out: one process runs the whole model.")
_FP8 = _Entry("8-bit floating point training", _HALF)
_BNB = _Entry("bitsandbytes", f"Load the model unquantised. {_HALF}")

LATER: dict[str, _Entry] = {
    "FullyShardedDataParallelPlugin": _FSDP,
    "DeepSpeedPlugin": _DEEPSPEED,
    "HfDeepSpeedConfig": _DEEPSPEED,
    "DummyOptim": _DEEPSPEED,
    "DummyScheduler": _DEEPSPEED,
    "DeepSpeedEngineWrapper": _DEEPSPEED,
    "DeepSpeedOptimizerWrapper": _DEEPSPEED,
    "DeepSpeedSchedulerWrapper": _DEEPSPEED,
    "DeepSpeedSequenceParallelConfig": _PARALLEL,
    "TorchTensorParallelPlugin": _PARALLEL,
    "TorchTensorParallelConfig": _PARALLEL,
    "TorchContextParallelConfig": _PARALLEL,
    "MegatronLMPlugin": _Entry("Megatron-LM", _ONE_DEVICE),
    "AORecipeKwargs": _FP8,
    "TERecipeKwargs": _FP8,
    "MSAMPRecipeKwargs": _FP8,
    "FP8RecipeKwargs": _FP8,
    "BnbQuantizationConfig": _BNB,
}


@cache
def undriven(name: str) -> type[Undriven]:
    """Return the class that stands for `name`, always the same one."""
    entry = LATER[name]
    members = {
        "__doc__": f"Options of {entry.engine}, which this version does not drive.",
        "__module__": __name__,
        "engine": entry.engine,
        "instead": entry.instead,
    }
    return type(name, (Undriven,), members)


def __getattr__(name: str) -> type[Undriven]:
    if name in LATER:
        return undriven(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
