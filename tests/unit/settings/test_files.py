from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError, LaunchError
from accelerate.settings import files
from accelerate.settings.resolve import resolve
from accelerate.settings.sections import Settings, build

# What older versions of the API have written; each is a whole file.
OLD_MAC = """
compute_environment: LOCAL_MACHINE
deepspeed_config: {}
distributed_type: MPS
downcast_bf16: 'no'
fsdp_config: {}
machine_rank: 0
main_process_ip: null
main_process_port: null
main_training_function: main
mixed_precision: 'no'
num_machines: 1
num_processes: 1
use_cpu: false
"""
RECENT = """
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: 'NO'
downcast_bf16: false
dynamo_config:
  dynamo_backend: INDUCTOR
  dynamo_mode: max-autotune
  dynamo_use_dynamic: true
enable_cpu_affinity: false
gpu_ids: all
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 1
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: true
"""


def write(folder: Path, text: str, name: str = "config.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def settings_of(path: Path) -> Settings:
    return resolve(file=files.load(path)).settings


def test_recent_file(tmp_path: Path) -> None:
    settings = settings_of(write(tmp_path, RECENT))
    assert settings == build(
        {
            "device.cpu": True,
            "device.gpu_ids": "all",
            "precision.mixed_precision": "bf16",
            "compile.backend": "inductor",
            "compile.mode": "max-autotune",
            "compile.dynamic": True,
            "processes.same_network": True,
        }
    )


def test_old_mac_file(tmp_path: Path) -> None:
    assert settings_of(write(tmp_path, OLD_MAC)) == build({"processes.distributed_type": "mps"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use_mps_device: true", {"processes.distributed_type": "mps"}),
        ("use_mps_device: false", {}),
        ("mixed_precision: no", {}),
        ("distributed_type: no", {}),
        ("distributed_type: 'NO'", {}),
        ("fp16: true", {"precision.mixed_precision": "fp16"}),
        ("fp16: true\nmixed_precision: bf16", {"precision.mixed_precision": "bf16"}),
        ("fp16: false", {}),
        ("dynamo_backend: INDUCTOR", {"compile.backend": "inductor"}),
        (
            "dynamo_config: {backend: EAGER, use_fullgraph: yes}",
            {"compile.backend": "eager", "compile.fullgraph": True},
        ),
        ("dynamo_config: null", {}),
        ("dynamo_config: {}", {}),
        ("num_processes: -1", {}),
        ("gpu_ids: 0", {"device.gpu_ids": "0"}),
        ("main_process_port: '29500'", {"processes.main_process_port": 29500}),
        ("fsdp_config: {fsdp_version: 2}", {}),
        ("", {}),
        ("# nothing but a remark", {}),
        ("mps_fallback: on", {"device.mps_fallback": True}),
    ],
)
def test_lines_of_old_files(tmp_path: Path, text: str, expected: dict[str, bool | int | str]) -> None:
    assert settings_of(write(tmp_path, text)) == build({**expected})


def test_json(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"use_cpu": True, "mixed_precision": "fp16"}), "config.json")
    assert settings_of(path) == build({"device.cpu": True, "precision.mixed_precision": "fp16"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "is not YAML"),
        ("\tx: 1", "is not YAML"),
        ("- 1\n- 2", "holds a list"),
        ("hello", "holds the single value 'hello'"),
        ("mixed_precison: bf16", "unknown key 'mixed_precison'. Did you mean mixed_precision?"),
        ("zzz: 1", "unknown key 'zzz'."),
        ("dynamo_config: {dynamo_mood: x}", "Did you mean dynamo_config.dynamo_mode?"),
        ("dynamo_config: [1]", "dynamo_config in .* is \\[1\\]"),
        ("1: 2", "unknown key '1'"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        files.load(write(tmp_path, text))
    assert str(tmp_path / "config.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_processes: two", "num_processes in .* is 'two'. It must be a whole number"),
        ("num_processes: [2]", "num_processes in .* is \\[2\\]"),
        ("num_processes: 0", "1 or more"),
        ("use_cpu: maybe", "use_cpu in .* is 'maybe'"),
        ("mixed_precision: fp61", "mixed_precision in .* is 'fp61'. It must be one of"),
        ("mixed_precision: yes", "mixed_precision in .* is True"),
    ],
)
def test_bad_values(tmp_path: Path, text: str, message: str) -> None:
    file = files.load(write(tmp_path, text))
    with pytest.raises(ConfigError, match=message):
        files.check(file)
    with pytest.raises(ConfigError, match=message):
        resolve(file=file)


def test_check_gives_typed_values(tmp_path: Path) -> None:
    file = files.load(write(tmp_path, "num_processes: '3'\nuse_cpu: yes"))
    assert files.check(file) == {"processes.num_processes": 3, "device.cpu": True}


def test_json_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not JSON: .* \(line 1\)"):
        files.load(write(tmp_path, "{", "config.json"))


def test_missing_folder_and_binary(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no configuration file .* accelerate config"):
        files.load(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="is a folder"):
        files.load(tmp_path)
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read: it is not UTF-8 text"):
        files.load(tmp_path / "x.yaml")


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("distributed_type: DEEPSPEED", "DeepSpeed"),
        ("deepspeed_config: {zero_stage: 2}", "DeepSpeed"),
        ("distributed_type: MEGATRON_LM", "Megatron-LM"),
        ("distributed_type: TPU", "TPU"),
        ("distributed_type: XLA", "TPU"),
        ("compute_environment: AMAZON_SAGEMAKER", "SageMaker"),
        ("mpirun_config: {mpirun_hostfile: /hosts}", "mpirun"),
        ("tpu_name: mine", "TPU"),
        ("downcast_bf16: yes", "TPU"),
    ],
)
def test_engines_are_refused_by_name(tmp_path: Path, text: str, engine: str) -> None:
    with pytest.raises(LaunchError, match=engine) as caught:
        files.load(write(tmp_path, text))
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "deepspeed_config: {}",
        "deepspeed_config: null",
        "deepspeed_config: {deepspeed_config_file: null}",
        "megatron_lm_config: {}",
        "tpu_env: []",
        "tpu_name: null",
        "tpu_use_sudo: false",
        "downcast_bf16: 'no'",
        "command_file: null",
        "commands: null",
        "mpirun_config: {}",
        "compute_environment: LOCAL_MACHINE",
    ],
)
def test_engines_that_are_only_mentioned_do_no_harm(tmp_path: Path, text: str) -> None:
    assert files.load(write(tmp_path, text)).values == {}


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"HF_HOME": "/hf"}, "/hf/accelerate/default_config.yaml"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/huggingface/accelerate/default_config.yaml"),
        ({"HF_HOME": "/hf", "XDG_CACHE_HOME": "/cache"}, "/hf/accelerate/default_config.yaml"),
        ({"HF_HOME": ""}, "~/.cache/huggingface/accelerate/default_config.yaml"),
        ({}, "~/.cache/huggingface/accelerate/default_config.yaml"),
    ],
)
def test_default_path(env: dict[str, str], path: str) -> None:
    assert files.default_path(env) == Path(path).expanduser()


def test_find(tmp_path: Path) -> None:
    env = {"HF_HOME": str(tmp_path)}
    assert files.find(env) is None
    folder = tmp_path / "accelerate"
    folder.mkdir()
    json_file = write(folder, "{}", "default_config.json")
    assert files.find(env) == json_file
    yaml_file = write(folder, "", "default_config.yaml")
    assert files.find(env) == yaml_file


def test_a_cache_folder_below_a_file_holds_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert files.find({"HF_HOME": str(tmp_path / "file" / "sub")}) is None


@given(
    cpu=st.booleans(),
    fallback=st.booleans(),
    precision=st.sampled_from(["no", "fp16", "bf16"]),
    backend=st.sampled_from(["no", "inductor"]),
    steps=st.integers(1, 64),
    ids=st.none() | st.sampled_from(["all", "0", "0,1"]),
    suffix=st.sampled_from([".yaml", ".json"]),
)
def test_what_is_saved_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    cpu: bool,
    fallback: bool,
    precision: str,
    backend: str,
    steps: int,
    ids: str | None,
    suffix: str,
) -> None:
    settings = build(
        {
            "device.cpu": cpu,
            "device.mps_fallback": fallback,
            "device.gpu_ids": ids,
            "precision.mixed_precision": precision,
            "training.gradient_accumulation_steps": steps,
            "compile.backend": backend,
        }
    )
    path = tmp_path_factory.mktemp("saved") / "deep" / f"config{suffix}"
    files.save(settings, path)
    assert settings_of(path) == settings
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_saved_defaults_hold_only_keys_that_others_know(tmp_path: Path) -> None:
    files.save(Settings(), tmp_path / "config.yaml")
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": "NO",
        "enable_cpu_affinity": False,
        "machine_rank": 0,
        "mixed_precision": "no",
        "num_machines": 1,
        "num_processes": 1,
        "rdzv_backend": "static",
        "same_network": False,
        "use_cpu": False,
    }


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written: Not a directory"):
        files.save(Settings(), tmp_path / "file" / "sub" / "config.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        files.save(Settings(), tmp_path / "folder.yaml")
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_closest() -> None:
    assert files.closest("lauch", ["launch", "env"]) == "Did you mean launch?"
    assert files.closest("zzz", ["launch", "env"]) == ""
