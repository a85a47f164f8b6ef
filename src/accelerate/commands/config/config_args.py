"""Old names of the objects for configuration files."""

from __future__ import annotations

from accelerate.cli.cluster_config import (
    BaseConfig,
    ClusterConfig,
    SageMakerConfig,
    default_file,
    load_config_from_file,
)
from accelerate.launch import environment as _environment
from accelerate.plugins.enums import ComputeEnvironment, DistributedType
from accelerate.settings.files import cache_folder as _cache_folder
from accelerate.settings.files import default_path as _default_path

hf_cache_home = str(_cache_folder(_environment.variables))
cache_dir = str(_default_path(_environment.variables).parent)
default_yaml_config_file = str(_default_path(_environment.variables))
default_json_config_file = default_yaml_config_file
default_config_file = default_file()

__all__ = [
    "BaseConfig",
    "ClusterConfig",
    "ComputeEnvironment",
    "DistributedType",
    "SageMakerConfig",
    "cache_dir",
    "default_config_file",
    "default_json_config_file",
    "default_yaml_config_file",
    "hf_cache_home",
    "load_config_from_file",
]
