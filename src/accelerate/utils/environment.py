"""Where programs look for helpers around environment variables."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.launch.environment import cleared as clear_environment
from accelerate.launch.environment import patch as patch_environment
from accelerate.launch.variables import (
    convert_dict_to_env_variables,
    get_int_from_env,
    parse_choice_from_env,
    parse_flag_from_env,
    purge_accelerate_environment,
    str_to_bool,
)
from accelerate.machine.packages import are_libraries_initialized

__all__ = [
    "are_libraries_initialized",
    "clear_environment",
    "convert_dict_to_env_variables",
    "get_int_from_env",
    "parse_choice_from_env",
    "parse_flag_from_env",
    "patch_environment",
    "purge_accelerate_environment",
    "str_to_bool",
]

__getattr__ = partial(notbuilt.only, __name__)
