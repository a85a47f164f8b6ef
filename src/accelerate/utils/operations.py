"""Where programs look for operations on nested structures of tensors."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.distributed.nested import (
    CannotPadNestedTensorWarning,
    concatenate,
    convert_outputs_to_fp32,
    convert_to_fp32,
    find_batch_size,
    find_device,
    get_data_structure,
    honor_type,
    ignorant_find_batch_size,
    initialize_tensors,
    is_namedtuple,
    is_tensor_information,
    is_torch_tensor,
    listify,
    pad_input_tensors,
    recursively_apply,
    slice_tensors,
)
from accelerate.distributed.placement import send_to_device
from accelerate.errors import CollectiveMismatch as DistributedOperationException
from accelerate.ops import broadcast, broadcast_object_list, gather, gather_object, pad_across_processes, reduce

__all__ = [
    "CannotPadNestedTensorWarning",
    "DistributedOperationException",
    "broadcast",
    "broadcast_object_list",
    "concatenate",
    "convert_outputs_to_fp32",
    "convert_to_fp32",
    "find_batch_size",
    "find_device",
    "gather",
    "gather_object",
    "get_data_structure",
    "honor_type",
    "ignorant_find_batch_size",
    "initialize_tensors",
    "is_namedtuple",
    "is_tensor_information",
    "is_torch_tensor",
    "listify",
    "pad_across_processes",
    "pad_input_tensors",
    "recursively_apply",
    "reduce",
    "send_to_device",
    "slice_tensors",
]

__getattr__ = partial(notbuilt.only, __name__)
