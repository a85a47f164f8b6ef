"""Putting nested structures of tensors on a device."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from accelerate.devices import registry
from accelerate.distributed.nested import Nested, honor_type, rebuild_mapping


def send_to_device(
    tensor: Nested,
    device: torch.device | str | int,
    non_blocking: bool = False,
    skip_keys: str | Iterable[str] | None = None,
) -> Nested:
    """Return the structure with every tensor on `device`.

    Objects that are no tensors but have a method `to`, as the tokenizers' batches, are moved by it. Values under the
    keys in `skip_keys` of a mapping stay where they are. What the device lacks is mended on the way: see
    `DeviceBackend.move` for float64 and for copies that must block.
    """
    target = _as_device(device)
    if isinstance(tensor, torch.Tensor):
        return _place(tensor, target, non_blocking)
    skipped = frozenset((skip_keys,) if isinstance(skip_keys, str) else skip_keys or ())

    def visit(node: Any) -> Any:
        if isinstance(node, torch.Tensor):
            return _place(node, target, non_blocking)
        if hasattr(node, "to") and not isinstance(node, torch.nn.Module):
            return _move_by_own_method(node, target)
        if isinstance(node, (list, tuple)):
            return honor_type(node, (visit(item) for item in node))
        if isinstance(node, Mapping):
            return rebuild_mapping(node, {k: v if k in skipped else visit(v) for k, v in node.items()})
        if isinstance(node, torch.nn.Module):
            return node.to(target)
        return node

    return visit(tensor)


def _place(tensor: torch.Tensor, target: torch.device, non_blocking: bool) -> torch.Tensor:
    backend = registry.find(target.type)
    if backend is None:
        return tensor.to(target, non_blocking=non_blocking)
    return backend.move(tensor, target, non_blocking=non_blocking)


def _as_device(device: torch.device | str | int) -> torch.device:
    return device if isinstance(device, torch.device) else torch.device(device)


def _move_by_own_method(node: Any, target: torch.device) -> Any:
    # Such batches hold float64 as often as others do, and their own `to` knows nothing of what the device lacks.
    if isinstance(node, UserDict):
        node.data = {key: send_to_device(value, target) for key, value in node.data.items()}
        return node
    return node.to(target)


def move_module(module: torch.nn.Module, device: torch.device) -> None:
    """Move the parameters and buffers of `module` to `device`, in place; they stay the same objects.

    float64 and complex128 become float32 and complex64 where the device lacks them.
    """
    backend = registry.find(device.type)
    if backend is not None:
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.data = backend.narrow(tensor.data)
    module.to(device)
