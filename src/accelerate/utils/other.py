"""Where programs look for helpers that fit nowhere else."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.commands.config.default import write_basic_config
from accelerate.extras import (
    check_os_kernel,
    convert_bytes,
    get_free_port,
    get_pretty_name,
    is_port_in_use,
    merge_dicts,
    recursive_getattr,
)
from accelerate.ops import wait_for_everyone
from accelerate.progress import tqdm
from accelerate.saving import load, save
from accelerate.training.compile import compile_regions, has_compiled_regions, is_compiled_module
from accelerate.training.wrapping import extract_model_from_parallel

__all__ = [
    "check_os_kernel",
    "compile_regions",
    "convert_bytes",
    "extract_model_from_parallel",
    "get_free_port",
    "get_pretty_name",
    "has_compiled_regions",
    "is_compiled_module",
    "is_port_in_use",
    "load",
    "merge_dicts",
    "recursive_getattr",
    "save",
    "tqdm",
    "wait_for_everyone",
    "write_basic_config",
]

__getattr__ = partial(notbuilt.only, __name__)
