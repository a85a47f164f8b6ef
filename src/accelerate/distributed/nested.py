"""Batches are nested: tensors in lists, tuples, named tuples and mappings. Functions over such structures.

All are pure: they return new structures and leave their arguments alone. Types of containers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from typing import Any

import torch

from accelerate.plugins.information import TensorInformation

# A nested structure of tensors and other leaves. Any, as no static type follows what the functions return.
Nested = Any


class CannotPadNestedTensorWarning(UserWarning):
    """A nested tensor was met where tensors are padded to one size; it is left as it is."""


def is_torch_tensor(data: object) -> bool:
    """Say whether `data` is a tensor."""
    return isinstance(data, torch.Tensor)


def is_tensor_information(data: object) -> bool:
    """Say whether `data` stands for a tensor that is elsewhere."""
    return isinstance(data, TensorInformation)


def is_namedtuple(data: object) -> bool:
    """Say whether `data` is an instance of a named tuple: a tuple whose fields are named by strings."""
    fields = getattr(data, "_fields", None)
    return isinstance(data, tuple) and isinstance(fields, tuple) and all(isinstance(f, str) for f in fields)


def honor_type(obj: Any, generator: Iterable[Any]) -> Any:
    """Return the items of `generator` in a container of the same type as `obj`, a list, tuple or named tuple."""
    return type(obj)(*list(generator)) if is_namedtuple(obj) else type(obj)(generator)


def rebuild_mapping(data: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """Return `items` as a mapping of the same type as `data`."""
    if type(data) is dict:
        return items
    return type(data)(items)  # pyrefly: ignore[bad-argument-count]


def recursively_apply(
    func: Callable[..., Any],
    data: Nested,
    *args: Any,
    test_type: Callable[[Any], bool] = is_torch_tensor,
    error_on_other_type: bool = False,
    **kwargs: Any,
) -> Nested:
    """Return `data` with `func(leaf, *args, **kwargs)` in the place of every leaf for which `test_type` is true.

    Raises:
        TypeError: `error_on_other_type` is set and there is a leaf for which `test_type` is false.
    """

    def visit(node: Any) -> Any:
        if isinstance(node, (list, tuple)):
            return honor_type(node, (visit(item) for item in node))
        if isinstance(node, Mapping):
            return rebuild_mapping(node, {key: visit(value) for key, value in node.items()})
        if test_type(node):
            return func(node, *args, **kwargs)
        if error_on_other_type:
            name = getattr(func, "__name__", repr(func))
            raise TypeError(
                f"A value of type {type(node).__name__} cannot be used by {name}. "
                f"Allowed are objects for which {test_type.__name__} is true, in lists, tuples and mappings."
            )
        return node

    return visit(data)


def get_data_structure(data: Nested) -> Nested:
    """Return `data` with each tensor replaced by its shape and dtype, a `TensorInformation`."""

    def describe(tensor: torch.Tensor) -> TensorInformation:
        return TensorInformation(tensor.shape, tensor.dtype)

    return recursively_apply(describe, data)


def initialize_tensors(data_structure: Nested) -> Nested:
    """Return a structure of uninitialised tensors on the CPU as `get_data_structure` has described it."""

    def allocate(info: TensorInformation) -> torch.Tensor:
        return torch.empty(info.shape, dtype=info.dtype)

    return recursively_apply(allocate, data_structure, test_type=is_tensor_information)


def _leaves(data: Nested) -> Iterable[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    elif isinstance(data, Mapping):
        for item in data.values():
            yield from _leaves(item)
    else:
        yield data


def holds_only_tensors(data: Nested) -> bool:
    """Say whether every leaf of `data` is a tensor."""
    return all(isinstance(leaf, torch.Tensor) for leaf in _leaves(data))


def first_samples(data: Nested, samples: int) -> Nested:
    """Return `data` cut to its first `samples`: every tensor that has dimensions, or a list of other objects."""

    def cut(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[:samples] if tensor.ndim else tensor

    if isinstance(data, list) and not holds_only_tensors(data):
        return data[:samples]
    return recursively_apply(cut, data)


def _check_not_empty(data: Nested) -> None:
    if isinstance(data, (list, tuple, Mapping)) and not data:
        raise ValueError(
            f"The batch holds an empty {type(data).__name__}: its size cannot be told. "
            "Give a batch with at least one tensor, or leave the empty field out in `collate_fn`."
        )


def find_batch_size(data: Nested) -> int | None:
    """Return the size of the first dimension of the first tensor in `data`; None when there is no tensor.

    Raises:
        ValueError: `data` is an empty container.
        TypeError: The first leaf is not a tensor.
    """
    _check_not_empty(data)
    first = next(iter(_leaves(data)), None)
    if not isinstance(first, torch.Tensor):
        raise TypeError(
            f"The batch begins with a value of type {type(first).__name__}: only tensors have a batch size."
        )
    return first.shape[0]


def ignorant_find_batch_size(data: Nested) -> int | None:
    """Return `find_batch_size(data)`, or None where that cannot tell."""
    try:
        return find_batch_size(data)
    except (ValueError, TypeError, IndexError):
        return None


def find_device(data: Nested) -> torch.device | None:
    """Return the device of the first tensor in `data`; None when there is none."""
    return next((leaf.device for leaf in _leaves(data) if isinstance(leaf, torch.Tensor)), None)


def listify(data: Nested) -> Nested:
    """Return `data` with each tensor replaced by nested lists of Python numbers; bfloat16 becomes float32 first."""

    def to_list(tensor: torch.Tensor) -> list[Any]:
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).tolist()

    return recursively_apply(to_list, data)


def slice_tensors(
    data: Nested, tensor_slice: slice, process_index: int | None = None, num_processes: int | None = None
) -> Nested:
    """Return `data` with `tensor[tensor_slice]` in the place of each tensor.

    The last two arguments are those of custom slice functions of a dispatching loader and are not used.
    """
    del process_index, num_processes

    def cut(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[tensor_slice]

    return recursively_apply(cut, data)


def concatenate(data: list[Nested], dim: int = 0) -> Nested:
    """Return one structure with the tensors of all structures in `data`, of equal shape, joined along `dim`."""
    first = data[0]
    if isinstance(first, (list, tuple)):
        return honor_type(first, (concatenate([d[i] for d in data], dim=dim) for i in range(len(first))))
    if isinstance(first, Mapping):
        return rebuild_mapping(first, {key: concatenate([d[key] for d in data], dim=dim) for key in first})
    if not isinstance(first, torch.Tensor):
        raise TypeError(f"Only tensors can be joined; the structures hold a {type(first).__name__}.")
    return torch.cat(data, dim=dim)


def _is_half(data: object) -> bool:
    return isinstance(data, torch.Tensor) and data.dtype in (torch.float16, torch.bfloat16)


def convert_to_fp32(tensor: Nested) -> Nested:
    """Return the structure with float16 and bfloat16 tensors as float32; all else as it is."""
    return recursively_apply(torch.Tensor.float, tensor, test_type=_is_half)


def convert_outputs_to_fp32(model_forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `model_forward` and returns its half-precision outputs as float32."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return convert_to_fp32(model_forward(*args, **kwargs))

    return update_wrapper(forward, model_forward)


def pad_input_tensors(tensor: Nested, batch_size: int, num_processes: int, dim: int = 0) -> Nested:
    """Return the structure with tensors made longer along `dim`, so that `num_processes` divides their length.

    What is added repeats the last item. Tensors whose length is not `batch_size` stay as they are.
    """

    def pad(single: torch.Tensor) -> torch.Tensor:
        missing = -batch_size % num_processes
        if single.ndim <= dim or single.shape[dim] != batch_size or not missing:
            return single
        last = single.narrow(dim, batch_size - 1, 1)
        return torch.cat([single, *[last] * missing], dim=dim)

    return recursively_apply(pad, tensor, error_on_other_type=True)
