from __future__ import annotations

import json
from pathlib import Path

import pytest

from accelerate.cli.cluster_config import BaseConfig, ClusterConfig, SageMakerConfig, load_config_from_file
from accelerate.errors import ConfigError, LaunchError
from accelerate.plugins.enums import ComputeEnvironment, DistributedType
from accelerate.settings import files
from accelerate.settings.sections import build

OLD = """\
compute_environment: LOCAL_MACHINE
deepspeed_config: {}
distributed_type: MPS
downcast_bf16: 'no'
dynamo_backend: 'NO'
fp16: true
fsdp_config: {}
machine_rank: 0
main_training_function: main
num_machines: 1
num_processes: 1
use_cpu: false
use_mps_device: true
"""


def local(**more: object) -> ClusterConfig:
    return ClusterConfig(
        compute_environment=ComputeEnvironment.LOCAL_MACHINE,
        distributed_type=DistributedType.NO,
        mixed_precision="bf16",
        use_cpu=False,
        debug=False,
        **more,  # pyrefly: ignore
    )


def test_to_dict_gives_plain_values_and_leaves_out_what_is_not_set() -> None:
    assert local(num_processes=1).to_dict() == {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": "NO",
        "downcast_bf16": False,
        "enable_cpu_affinity": False,
        "machine_rank": 0,
        "main_training_function": "main",
        "mixed_precision": "bf16",
        "num_machines": 1,
        "num_processes": 1,
        "rdzv_backend": "static",
        "same_network": False,
        "tpu_use_cluster": False,
        "tpu_use_sudo": False,
        "use_cpu": False,
    }


@pytest.mark.parametrize("name", ["c.yaml", "c.json"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    config = local(num_processes=2, fsdp_config={"fsdp_version": 2}, gpu_ids="0,1")
    if name.endswith("json"):
        config.to_json_file(tmp_path / name)
    else:
        config.to_yaml_file(tmp_path / name)
    assert load_config_from_file(tmp_path / name) == config
    assert load_config_from_file(str(tmp_path / name)).distributed_type is DistributedType.NO


def test_old_files_are_read_as_today_they_would_be_written(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(OLD)
    config = ClusterConfig.from_yaml_file(tmp_path / "old.yaml")
    assert config.distributed_type is DistributedType.NO
    assert config.mixed_precision == "fp16"
    assert config.dynamo_config == {"dynamo_backend": "NO"}
    assert config.debug is False


def test_a_file_of_accelerate_config_is_read(tmp_path: Path) -> None:
    settings = build({"device.mps_fallback": True, "training.gradient_accumulation_steps": 4})
    files.save(settings, tmp_path / "c.yaml")
    values = load_config_from_file(tmp_path / "c.yaml").to_dict()
    assert (values["mps_fallback"], values["gradient_accumulation_steps"]) == (True, 4)
    assert values["mixed_precision"] == "no"


def test_the_default_file_is_read_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    files.save(build({"precision.mixed_precision": "bf16"}), tmp_path / "accelerate/default_config.yaml")
    assert load_config_from_file(None).mixed_precision == "bf16"
    assert ClusterConfig.from_yaml_file().mixed_precision == "bf16"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("num_procesess: 2\n", "unknown key 'num_procesess'. Did you mean num_processes?"),
        ("- a\n- b\n", "does not hold lines"),
        ("a: [\n", "is not YAML"),
        ("distributed_type: SOMEHOW\n", "SOMEHOW"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"configuration file .*c\.yaml") as caught:
        load_config_from_file(tmp_path / "c.yaml")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_json_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_config_from_file(tmp_path / "c.json")


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_a_file_that_cannot_be_read(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "c.yaml"
    if kind == "folder":
        place.mkdir()
    elif kind == "binary":
        place.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"c\.yaml"):
        load_config_from_file(place)


def test_sagemaker_is_left_out_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("compute_environment: AMAZON_SAGEMAKER\nec2_instance_type: x\n")
    with pytest.raises(LaunchError, match="SageMaker"):
        load_config_from_file(tmp_path / "c.yaml")
    with pytest.raises(LaunchError, match="SageMaker"):
        SageMakerConfig(region="us-east-1")


def test_the_json_is_json(tmp_path: Path) -> None:
    BaseConfig("LOCAL_MACHINE", "NO", "no", False, False).to_json_file(tmp_path / "c.json")  # pyrefly: ignore
    assert json.loads((tmp_path / "c.json").read_text())["compute_environment"] == "LOCAL_MACHINE"
