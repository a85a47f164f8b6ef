"""Which flags exist. Command lines written for other implementations must never meet an unknown flag."""

from __future__ import annotations

import click
import pytest

from accelerate.cli.launch import launch
from accelerate.settings import legacy
from accelerate.settings.sections import knobs

# Every flag of `accelerate launch` in version 1.15.0 of the API.
API = frozenset(
    word
    for line in (
        "config_file quiet module no_python debug cpu multi_gpu tpu mixed_precision num_processes num_machines",
        "num_cpu_threads_per_process enable_cpu_affinity dynamo_backend dynamo_mode dynamo_use_fullgraph",
        "dynamo_use_dynamic dynamo_use_regional_compilation use_deepspeed use_fsdp use_parallelism_config",
        "use_megatron_lm gpu_ids same_network machine_rank main_process_ip main_process_port tee log_dir role",
        "rdzv_backend rdzv_conf max_restarts monitor_interval tpu_cluster no_tpu_cluster tpu_use_sudo vm env",
        "main_training_function downcast_bf16 deepspeed_config_file zero_stage offload_optimizer_device",
        "offload_param_device offload_optimizer_nvme_path offload_param_nvme_path gradient_accumulation_steps",
        "gradient_clipping zero3_init_flag zero3_save_16bit_model deepspeed_hostfile deepspeed_exclusion_filter",
        "deepspeed_inclusion_filter deepspeed_multinode_launcher deepspeed_moe_layer_cls_names fsdp_version",
        "fsdp_offload_params fsdp_min_num_params fsdp_sharding_strategy fsdp_reshard_after_forward",
        "fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap fsdp_backward_prefetch fsdp_state_dict_type",
        "fsdp_forward_prefetch fsdp_use_orig_params fsdp_cpu_ram_efficient_loading fsdp_sync_module_states",
        "fsdp_activation_checkpointing fsdp_activation_checkpointing_offload megatron_lm_tp_degree",
        "megatron_lm_use_custom_fsdp megatron_lm_no_load_optim megatron_lm_eod_mask_loss",
        "megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_no_save_optim megatron_lm_optimizer_cpu_offload",
        "megatron_lm_use_precision_aware_optimizer megatron_lm_decoder_last_pipeline_num_layers",
        "megatron_lm_pp_degree megatron_lm_num_micro_batches megatron_lm_sequence_parallelism",
        "megatron_lm_recompute_activations megatron_lm_use_distributed_optimizer megatron_lm_gradient_clipping",
        "megatron_lm_recompute_granularity megatron_lm_recompute_method megatron_lm_recompute_num_layers",
        "megatron_lm_attention_backend megatron_lm_expert_model_parallel_size megatron_lm_context_parallel_size",
        "megatron_lm_attention_dropout megatron_lm_hidden_dropout megatron_lm_attention_softmax_in_fp32",
        "megatron_lm_expert_tensor_parallel_size megatron_lm_calculate_per_token_loss",
        "megatron_lm_use_rotary_position_embeddings fp8_backend fp8_use_autocast_during_eval fp8_margin",
        "fp8_interval fp8_format fp8_amax_history_len fp8_amax_compute_algo fp8_override_linear_precision",
        "fp8_opt_level fp8_enable_fsdp_float8_all_gather fp8_pad_inner_dim aws_access_key_id",
        "aws_secret_access_key mpirun_hostfile parallelism_config_dp_replicate_size",
        "parallelism_config_dp_shard_size parallelism_config_tp_size parallelism_config_cp_size",
        "parallelism_config_cp_backend parallelism_config_cp_comm_strategy parallelism_config_sp_size",
        "parallelism_config_sp_backend parallelism_config_sp_seq_length",
        "parallelism_config_sp_seq_length_is_variable parallelism_config_sp_attn_implementation",
    )
    for word in line.split()
)
# Ours alone.
OWN = frozenset({"mps_fallback", "simulate", "dry_run", "explain"})


def options() -> dict[str, click.Option]:
    return {name: one for one in launch.params if isinstance(one, click.Option) for name in one.opts}


def test_the_list_of_flags_is_frozen() -> None:
    long = {name[2:].replace("-", "_") for name in options() if name.startswith("--")}
    assert long == API | OWN


@pytest.mark.parametrize("flag", sorted(API))
def test_both_spellings_exist(flag: str) -> None:
    assert {f"--{flag}", f"--{flag.replace('_', '-')}"} <= set(options())


def test_short_flags() -> None:
    short = {name: one.opts[0] for name, one in options().items() if not name.startswith("--")}
    assert short == {"-m": "--module", "-q": "--quiet", "-t": "--tee"}


def test_every_flag_acts_warns_or_refuses() -> None:
    acting = {one.flag for one in knobs() if one.flag} | {"config_file", "quiet", "module", "no_python"}
    assert acting | set(legacy.ENGINE_FLAGS) | set(legacy.IDLE_FLAGS) == API | {"mps_fallback", "simulate"}


@pytest.mark.parametrize("flag", sorted(legacy.ENGINE_FLAGS))
def test_engines_refuse_by_name(flag: str) -> None:
    value = [] if legacy.ENGINE_FLAGS[flag].switch else ["1"]
    with pytest.raises(Exception, match=f"^--{flag} asks for .*, which this accelerate does not drive"):
        launch.main([f"--{flag}", *value, "x.py"], standalone_mode=False)
