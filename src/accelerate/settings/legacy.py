"""Names of older programs and files: engines that are not driven here, and options idle on one device.

One table each. A name in `ENGINE_FLAGS` or `ENGINE_KEYS` is known and refused, so that nobody takes it for a
typing mistake; a name in `IDLE_FLAGS` is accepted, with a warning when it was given and can have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accelerate.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that runs training and that this package does not drive, and what to use instead."""

    name: str
    instead: str


DEEPSPEED = Engine("DeepSpeed", "Leave it out to train on one device; the script itself needs no change.")
MEGATRON = Engine("Megatron-LM", "Leave it out to train on one device; the script itself needs no change.")
TPU = Engine("a TPU", "Leave it out to train on the GPU or CPU of this machine.")
SAGEMAKER = Engine("Amazon SageMaker", "Run `accelerate launch` on the instance itself.")
MPI = Engine("mpirun", "Start the script with mpirun yourself: mpirun -n 2 python script.py")


@dataclass(frozen=True, slots=True)
class EngineFlag:
    """A flag of an engine; `switch` says that it takes no value."""

    engine: Engine
    switch: bool = False


def _flags(engine: Engine, names: str, switches: str = "") -> dict[str, EngineFlag]:
    return {name: EngineFlag(engine) for name in names.split()} | {
        name: EngineFlag(engine, switch=True) for name in switches.split()
    }


ENGINE_FLAGS: Mapping[str, EngineFlag] = {
    **_flags(
        DEEPSPEED,
        "deepspeed_config_file zero_stage offload_optimizer_device offload_param_device "
        "offload_optimizer_nvme_path offload_param_nvme_path gradient_clipping zero3_init_flag "
        "zero3_save_16bit_model deepspeed_hostfile deepspeed_exclusion_filter deepspeed_inclusion_filter "
        "deepspeed_multinode_launcher deepspeed_moe_layer_cls_names",
        switches="use_deepspeed",
    ),
    **_flags(
        MEGATRON,
        "megatron_lm_tp_degree megatron_lm_use_custom_fsdp megatron_lm_no_load_optim "
        "megatron_lm_eod_mask_loss megatron_lm_overlap_cpu_optimizer_d2h_h2d "
        "megatron_lm_no_save_optim megatron_lm_optimizer_cpu_offload "
        "megatron_lm_use_precision_aware_optimizer megatron_lm_decoder_last_pipeline_num_layers "
        "megatron_lm_pp_degree megatron_lm_num_micro_batches megatron_lm_sequence_parallelism "
        "megatron_lm_recompute_activations megatron_lm_use_distributed_optimizer "
        "megatron_lm_gradient_clipping megatron_lm_recompute_granularity "
        "megatron_lm_recompute_method megatron_lm_recompute_num_layers megatron_lm_attention_backend "
        "megatron_lm_expert_model_parallel_size megatron_lm_context_parallel_size "
        "megatron_lm_attention_dropout megatron_lm_hidden_dropout "
        "megatron_lm_attention_softmax_in_fp32 megatron_lm_expert_tensor_parallel_size "
        "megatron_lm_calculate_per_token_loss megatron_lm_use_rotary_position_embeddings",
        switches="use_megatron_lm",
    ),
    **_flags(
        TPU,
        "vm env main_training_function",
        switches="tpu tpu_cluster no_tpu_cluster tpu_use_sudo downcast_bf16",
    ),
    **_flags(SAGEMAKER, "aws_access_key_id aws_secret_access_key"),
    **_flags(MPI, "mpirun_hostfile"),
}

ENGINE_KEYS: Mapping[str, Engine] = {
    "deepspeed_config": DEEPSPEED,
    "deepspeed_config_file": DEEPSPEED,
    "megatron_lm_config": MEGATRON,
    "mpirun_config": MPI,
    **dict.fromkeys(
        (
            *("tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "tpu_vm", "tpu_env", "command_file"),
            *("commands", "downcast_bf16"),
        ),
        TPU,
    ),
    **dict.fromkeys(
        (
            *("ec2_instance_type", "iam_role_name", "image_uri", "profile", "region", "base_job_name"),
            *("pytorch_version", "transformers_version", "py_version", "sagemaker_inputs_file"),
            *("sagemaker_metrics_file", "additional_args"),
        ),
        SAGEMAKER,
    ),
}

ENGINE_TYPES: Mapping[str, Engine] = {
    "deepspeed": DEEPSPEED,
    "megatron_lm": MEGATRON,
    "xla": TPU,
    "tpu": TPU,
}
"""Values of the key `distributed_type` that name an engine."""


@dataclass(frozen=True, slots=True)
class IdleFlag:
    """A flag that has no task in a run on one device.

    Args:
        default: The text that changes nothing; None for "not given".
        task: What it belongs to, for the warning.
        switch: It takes no value.
    """

    default: str | None
    task: str
    switch: bool = False


_FSDP = "sharing a model between processes (FSDP)"
_PARALLEL = "sharing the work between processes"
_FP8 = "mixed precision fp8"

IDLE_FLAGS: Mapping[str, IdleFlag] = {
    "fsdp_version": IdleFlag("1", _FSDP),
    "fsdp_offload_params": IdleFlag("false", _FSDP),
    "fsdp_min_num_params": IdleFlag("100000000", _FSDP),
    "fsdp_sharding_strategy": IdleFlag("FULL_SHARD", _FSDP),
    "fsdp_reshard_after_forward": IdleFlag("true", _FSDP),
    "fsdp_auto_wrap_policy": IdleFlag(None, _FSDP),
    "fsdp_transformer_layer_cls_to_wrap": IdleFlag(None, _FSDP),
    "fsdp_backward_prefetch": IdleFlag(None, _FSDP),
    "fsdp_state_dict_type": IdleFlag(None, _FSDP),
    "fsdp_forward_prefetch": IdleFlag("false", _FSDP),
    "fsdp_use_orig_params": IdleFlag("true", _FSDP),
    "fsdp_cpu_ram_efficient_loading": IdleFlag("true", _FSDP),
    "fsdp_sync_module_states": IdleFlag("true", _FSDP),
    "fsdp_activation_checkpointing": IdleFlag("false", _FSDP),
    "fsdp_activation_checkpointing_offload": IdleFlag("false", _FSDP),
    "parallelism_config_dp_replicate_size": IdleFlag("1", _PARALLEL),
    "parallelism_config_dp_shard_size": IdleFlag("1", _PARALLEL),
    "parallelism_config_tp_size": IdleFlag("1", _PARALLEL),
    "parallelism_config_cp_size": IdleFlag("1", _PARALLEL),
    "parallelism_config_cp_backend": IdleFlag("torch", _PARALLEL),
    "parallelism_config_cp_comm_strategy": IdleFlag("allgather", _PARALLEL),
    "parallelism_config_sp_size": IdleFlag("1", _PARALLEL),
    "parallelism_config_sp_backend": IdleFlag("deepspeed", _PARALLEL),
    "parallelism_config_sp_seq_length": IdleFlag(None, _PARALLEL),
    "parallelism_config_sp_seq_length_is_variable": IdleFlag("true", _PARALLEL),
    "parallelism_config_sp_attn_implementation": IdleFlag("sdpa", _PARALLEL),
    "fp8_backend": IdleFlag(None, _FP8),
    "fp8_use_autocast_during_eval": IdleFlag(None, _FP8, switch=True),
    "fp8_margin": IdleFlag("0", _FP8),
    "fp8_interval": IdleFlag("1", _FP8),
    "fp8_format": IdleFlag("HYBRID", _FP8),
    "fp8_amax_history_len": IdleFlag("1024", _FP8),
    "fp8_amax_compute_algo": IdleFlag("most_recent", _FP8),
    "fp8_override_linear_precision": IdleFlag("(False, False, False)", _FP8),
    "fp8_opt_level": IdleFlag("O2", _FP8),
    "fp8_enable_fsdp_float8_all_gather": IdleFlag("true", _FP8),
    "fp8_pad_inner_dim": IdleFlag("true", _FP8),
}

IDLE_KEYS = frozenset({"fsdp_config", "parallelism_config", "fp8_config", "main_training_function"})
"""Keys that a file may carry for a run that does not use them."""

_UNSET = (None, "", "no", "NO", "None", "none", False, 0)


def refuse(engine: Engine, where: str) -> LaunchError:
    """The error for asking for an engine; `where` is the flag or key that did."""
    return LaunchError(f"{where} asks for {engine.name}, which this accelerate does not drive.", engine.instead)


def idle_warnings(given: Mapping[str, object]) -> tuple[str, ...]:
    """One line for each idle flag in `given` (flag name -> text) that asks for more than its default."""
    lines = []
    for name, value in given.items():
        flag = IDLE_FLAGS[name]
        if value is not None and str(value).lower() != str(flag.default).lower():
            lines.append(f"--{name} has no effect on one device: it belongs to {flag.task}.")
    return tuple(lines)


def modernise(raw: Mapping[str, object], path: str) -> dict[str, object]:
    """Turn what older files say into today's keys, and drop the keys of engines that the file does not use.

    Args:
        raw: Key -> value as read.
        path: The file, for errors.

    Raises:
        LaunchError: The file asks for an engine that is not driven here.
    """
    values = dict(raw)
    environment = values.pop("compute_environment", None)
    if str(environment).upper().endswith("SAGEMAKER"):
        raise refuse(SAGEMAKER, f"compute_environment in {path}")
    for key, engine in ENGINE_KEYS.items():
        if _asks(values.pop(key, None)):
            raise refuse(engine, f"{key} in {path}")
    for key in IDLE_KEYS:
        values.pop(key, None)
    kind = str(values.get("distributed_type")).lower()
    if kind in ENGINE_TYPES:
        raise refuse(ENGINE_TYPES[kind], f"distributed_type in {path}")
    if values.pop("use_mps_device", None) is True:
        values["distributed_type"] = "mps"
    if values.pop("fp16", None) is True and not _asks(values.get("mixed_precision")):
        values["mixed_precision"] = "fp16"
    if values.get("num_processes") == -1:
        del values["num_processes"]
    return _old_dynamo(values)


def _old_dynamo(values: dict[str, object]) -> dict[str, object]:
    """Gather `dynamo_backend: X` at the top level, and parts without the prefix, under `dynamo_config`."""
    nested = values.pop("dynamo_config", None)
    top = {key: values.pop(key) for key in tuple(values) if key.startswith("dynamo_")}
    if isinstance(nested, Mapping):
        top |= {f"dynamo_{str(key).removeprefix('dynamo_')}": item for key, item in nested.items()}
    elif nested is not None:
        values["dynamo_config"] = nested
    if top:
        values["dynamo_config"] = top
    return values


def _asks(value: object) -> bool:
    """Whether a key of an engine has a value that asks for something; emptiness at any depth does not."""
    if isinstance(value, Mapping):
        return any(_asks(item) for item in value.values())
    if isinstance(value, list):
        return any(_asks(item) for item in value)
    return value not in _UNSET
