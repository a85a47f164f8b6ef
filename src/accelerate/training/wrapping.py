"""What is put around a user's model, and how to take it off again."""

from __future__ import annotations

from typing import Any

import torch

from accelerate.precision.base import Precision, PreparedForward
from accelerate.training.compile import is_compiled_module

_PREPARED = "_is_accelerate_prepared"


def is_prepared(obj: object) -> bool:
    """Say whether `obj` is a model, loader, optimizer or scheduler that `prepare` has returned."""
    return bool(getattr(obj, "__dict__", {}).get(_PREPARED, False))


def mark_prepared(obj: object) -> None:
    """Note on `obj` that `prepare` has returned it."""
    obj.__dict__[_PREPARED] = True


def is_spread(model: torch.nn.Module) -> bool:
    """Say whether a device map has put parts of `model` on several devices, where they must stay."""
    maps = (module.__dict__.get("hf_device_map", {}) for module in model.modules())
    return any(len(device_map) > 1 for device_map in maps)


def wrap_forward(model: torch.nn.Module, precision: Precision) -> None:
    """Make `model`'s forward pass run in `precision`, in place; what it was is kept as `_original_forward`."""
    original = model.forward
    wrapped = precision.wrap_forward(original)
    if wrapped is not original:
        model._original_forward = original  # pyrefly: ignore[bad-argument-type] - the name is the API's
        model.forward = wrapped


def restore_forward(model: torch.nn.Module) -> None:
    """Undo `wrap_forward`, in place."""
    if isinstance(model.__dict__.get("forward"), PreparedForward):
        del model.__dict__["forward"]
        original = model.__dict__.pop("_original_forward")
        if getattr(original, "__func__", None) is not type(model).forward:
            model.forward = original  # the user had put a function of their own there


def extract_model_from_parallel(
    model: Any, keep_fp32_wrapper: bool = True, keep_torch_compile: bool = True, recursive: bool = False
) -> Any:
    """Return the user's model from inside what was put around it.

    Args:
        model: A model, prepared or not.
        keep_fp32_wrapper: False takes the precision off its forward pass too, in place.
        keep_torch_compile: False returns the model behind a compiled one.
        recursive: Also look for wrappers inside the model's children.
    """
    compiled = model if is_compiled_module(model) else None
    inner = model._orig_mod if compiled is not None else model
    while isinstance(inner, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
        inner = inner.module
    if recursive:
        for name, child in inner.named_children():
            setattr(inner, name, extract_model_from_parallel(child, keep_fp32_wrapper, keep_torch_compile, True))
    if not keep_fp32_wrapper:
        restore_forward(inner)
    if compiled is None or not keep_torch_compile:
        return inner
    compiled._orig_mod = inner
    return compiled
