"""The API's objects for configuration files, for programs that read or write such files themselves.

`accelerate launch` does not use them. They hold whatever a file says, options of engines that are not driven here too.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.plugins.enums import ComputeEnvironment, DistributedType
from accelerate.settings import files, legacy

Config = TypeVar("Config", bound="BaseConfig")
PathLike: TypeAlias = "str | os.PathLike[str]"

_OLD_TYPES = {"MPS": "NO", "TPU": "XLA"}


@dataclass
class BaseConfig:
    """What every configuration file says."""

    compute_environment: ComputeEnvironment
    distributed_type: DistributedType
    mixed_precision: str
    use_cpu: bool
    debug: bool

    def __post_init__(self) -> None:
        """Accept plain texts for the two enums."""
        self.compute_environment = ComputeEnvironment(self.compute_environment)
        kind = str(getattr(self.distributed_type, "value", self.distributed_type))
        self.distributed_type = DistributedType(_OLD_TYPES.get(kind, kind))

    def to_dict(self) -> dict[str, Any]:
        """The keys and plain values of the file, without those that are not set."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        plain = {key: getattr(value, "value", value) for key, value in values.items()}
        return {key: value for key, value in plain.items() if value is not None and value != {}}

    def to_yaml_file(self, yaml_file: PathLike) -> None:
        """Write a YAML file."""
        import yaml

        Path(yaml_file).write_text(yaml.safe_dump(self.to_dict()), encoding="utf-8")

    def to_json_file(self, json_file: PathLike) -> None:
        """Write a JSON file."""
        Path(json_file).write_text(json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def from_yaml_file(cls: type[Config], yaml_file: PathLike | None = None) -> Config:
        """Read a YAML file; the default one when None.

        Raises:
            ConfigError: It cannot be read, or has a key that no such file has.
        """
        import yaml

        path = Path(yaml_file or default_file())
        try:
            return cls._from_keys(yaml.safe_load(_read(path)), path)
        except yaml.YAMLError as error:
            raise ConfigError(f"The configuration file {path} is not YAML: {' '.join(str(error).split())}.") from None

    @classmethod
    def from_json_file(cls: type[Config], json_file: PathLike | None = None) -> Config:
        """Read a JSON file; the default one when None.

        Raises:
            ConfigError: It cannot be read, or has a key that no such file has.
        """
        path = Path(json_file or default_file())
        try:
            return cls._from_keys(json.loads(_read(path)), path)
        except json.JSONDecodeError as error:
            raise ConfigError(f"The configuration file {path} is not JSON: {error}.") from None

    @classmethod
    def _from_keys(cls: type[Config], content: object, path: Path) -> Config:
        if not isinstance(content, Mapping):
            raise ConfigError(f"The configuration file {path} does not hold lines `key: value`.")
        given = _modern({str(key): value for key, value in content.items()})
        allowed = [one.name for one in dataclasses.fields(cls)]
        for key in given:
            if key not in allowed:
                hint = files.closest(key, allowed)
                raise ConfigError(f"The configuration file {path} has the unknown key {key!r}.", hint)
        try:
            return cls(**given)
        except ValueError as error:
            raise ConfigError(f"The configuration file {path} cannot be used: {error}.") from None


def _modern(given: Mapping[str, Any]) -> dict[str, Any]:
    """Today's keys for what older files say, with the values of the keys that older files leave out."""
    defaults = {"compute_environment": "LOCAL_MACHINE", "distributed_type": "NO", "use_cpu": False, "debug": False}
    values = {key: value for key, value in given.items() if key not in ("use_mps_device", "fp16")}
    # YAML reads a bare `no` as False.
    if values.get("mixed_precision") in (False, None):
        values["mixed_precision"] = "fp16" if given.get("fp16") is True else "no"
    top = {key: values.pop(key) for key in given if key.startswith("dynamo_") and key != "dynamo_config"}
    if top:
        values["dynamo_config"] = top
    return defaults | values


@dataclass
class ClusterConfig(BaseConfig):
    """A configuration file for this machine or for several."""

    num_processes: int = -1
    machine_rank: int = 0
    num_machines: int = 1
    gpu_ids: str | None = None
    main_process_ip: str | None = None
    main_process_port: int | None = None
    rdzv_backend: str | None = "static"
    same_network: bool | None = False
    main_training_function: str = "main"
    enable_cpu_affinity: bool = False
    fp8_config: dict[str, Any] = field(default_factory=dict)
    deepspeed_config: dict[str, Any] = field(default_factory=dict)
    fsdp_config: dict[str, Any] = field(default_factory=dict)
    parallelism_config: dict[str, Any] = field(default_factory=dict)
    megatron_lm_config: dict[str, Any] = field(default_factory=dict)
    mpirun_config: dict[str, Any] = field(default_factory=dict)
    downcast_bf16: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    tpu_use_cluster: bool = False
    tpu_use_sudo: bool = False
    command_file: str | None = None
    commands: list[str] | None = None
    tpu_vm: list[str] | None = None
    tpu_env: list[str] | None = None
    dynamo_config: dict[str, Any] = field(default_factory=dict)
    mps_fallback: bool | None = None
    gradient_accumulation_steps: int | None = None


class SageMakerConfig:
    """A configuration file for Amazon SageMaker, which is left out; the name is here to be imported."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Say that it is left out. Raises LaunchError."""
        _refuse_sagemaker("SageMakerConfig")


def _refuse_sagemaker(where: str) -> NoReturn:
    raise legacy.refuse(legacy.SAGEMAKER, where)


def default_file() -> str:
    """The path of the default configuration file, whether it is there or not."""
    return str(files.find(environment.variables) or files.default_path(environment.variables))


def load_config_from_file(config_file: PathLike | None) -> ClusterConfig:
    """Read a configuration file, YAML or JSON by its name; the default one when None.

    Raises:
        ConfigError: It is not there, cannot be read, or has a key that no such file has.
        LaunchError: It is a file for SageMaker.
    """
    path = Path(config_file or default_file())
    if "AMAZON_SAGEMAKER" in _read(path):
        _refuse_sagemaker(f"compute_environment in {path}")
    return ClusterConfig.from_json_file(path) if path.suffix == ".json" else ClusterConfig.from_yaml_file(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"There is no configuration file {path}.", fix="Make one with: accelerate config") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error}.") from None
