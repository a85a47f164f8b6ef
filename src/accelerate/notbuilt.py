"""The names of the API that this version does not have, in one table.

Taking one, also by `from ... import ...`, raises an `ImportError` that says so. The names that other libraries take
while they are being imported are the exception: those give a stand-in, which refuses when it is called, so that these
libraries work as far as one device goes. What is built later moves out of the table; `tests/compat` keeps it exact.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, NoReturn

from accelerate.errors import ConfigError


class Area(NamedTuple):
    """Names of one module that wait for the same piece of work.

    Args:
        module: The path that programs import from.
        what: What they need, as the subject of "... is not part of this version".
        names: The names, with blanks between.
    """

    module: str
    what: str
    names: str


_BIG_MODELS = "loading and running models that do not fit on one device"
_FSDP = "fully sharded data parallelism"
_PARALLEL = "running on several processes"
_DEEPSPEED = "DeepSpeed"
_MEGATRON = "Megatron-LM"
_FP8 = "8-bit floating point training"
_BNB = "bitsandbytes quantisation"
_BY_HAND = "preparing a state for safetensors by hand (save_model and save_state do it)"
_TPU = "training on TPUs"
_PIPELINE = "pipeline parallel inference"
_OFFLOAD_NAMES = (
    "OffloadedWeightsLoader PrefixedDataset extract_submodules_state_dict load_offloaded_weight "
    "load_offloaded_weights offload_state_dict offload_weight save_offload_index"
)
_MODELING_NAMES = (
    "align_module_device calculate_maximum_sizes check_device_map check_tied_parameters_in_config "
    "check_tied_parameters_on_same_device clean_device_map compute_module_sizes compute_module_total_buffer_size "
    "convert_file_size_to_int dtype_byte_size find_tied_parameters get_balanced_memory get_max_layer_size "
    "get_max_memory get_module_size_with_ties get_non_persistent_buffers get_state_dict_from_offload "
    "get_state_dict_offloaded_model has_offloaded_params id_tensor_storage infer_auto_device_map "
    "load_checkpoint_in_model load_offloaded_weights load_state_dict named_module_tensors retie_parameters "
    "set_module_tensor_to_device"
)
_FSDP_NAMES = (
    "disable_fsdp_ram_efficient_loading enable_fsdp_ram_efficient_loading ensure_weights_retied fsdp2_apply_ac "
    "fsdp2_canonicalize_names fsdp2_load_full_state_dict fsdp2_prepare_model fsdp2_switch_optimizer_parameters "
    "get_fsdp2_grad_scaler get_parameters_from_modules load_fsdp_model load_fsdp_optimizer merge_fsdp_weights "
    "save_fsdp_model save_fsdp_optimizer"
)

AREAS = (
    Area(
        "accelerate",
        _BIG_MODELS,
        "cpu_offload cpu_offload_with_hook disk_offload dispatch_model infer_auto_device_map init_empty_weights "
        "init_on_device load_checkpoint_and_dispatch load_checkpoint_in_model",
    ),
    Area("accelerate", _PIPELINE, "prepare_pippy"),
    Area(
        "accelerate.big_modeling",
        _BIG_MODELS,
        "attach_layerwise_casting_hooks check_device_map cpu_offload cpu_offload_with_hook disk_offload dispatch_model "
        "infer_auto_device_map init_empty_weights init_on_device load_checkpoint_and_dispatch",
    ),
    Area(
        "accelerate.hooks",
        _BIG_MODELS,
        "AlignDevicesHook CpuOffload LayerwiseCastingHook ModelHook SequentialHook UserCpuOffloadHook "
        "add_hook_to_module attach_align_device_hook attach_align_device_hook_on_blocks attach_execution_device_hook "
        "remove_hook_from_module remove_hook_from_submodules",
    ),
    Area("accelerate.inference", _PIPELINE, "prepare_pippy"),
    Area("accelerate.launchers", _PARALLEL, "PrepareForLaunch test_launch"),
    Area("accelerate.local_sgd", _PARALLEL, "LocalSGD"),
    Area("accelerate.utils.ao", _FP8, "convert_model_to_fp8_ao filter_first_and_last_linear_layers has_ao_layers"),
    Area("accelerate.utils.bnb", _BNB, "has_4bit_bnb_layers load_and_quantize_model"),
    Area(
        "accelerate.utils.constants",
        _FSDP,
        "FSDP2_PYTORCH_VERSION FSDP2_STATE_DICT_TYPE FSDP_AUTO_WRAP_POLICY FSDP_BACKWARD_PREFETCH FSDP_MODEL_NAME "
        "FSDP_PYTORCH_VERSION FSDP_SHARDING_STRATEGY FSDP_STATE_DICT_TYPE SUPPORTED_PYTORCH_LAYERS_FOR_UPCASTING",
    ),
    Area(
        "accelerate.utils.constants",
        _PARALLEL,
        "BETA_CP_AVAILABLE_PYTORCH_VERSION BETA_SP_AVAILABLE_DEEPSPEED_VERSION BETA_TP_AVAILABLE_PYTORCH_VERSION "
        "BETA_TP_AVAILABLE_TRANSFORMERS_VERSION TORCH_DISTRIBUTED_OPERATION_TYPES TORCH_LAUNCH_PARAMS",
    ),
    Area(
        "accelerate.utils.constants",
        "profiling on devices that are not driven",
        "MITA_PROFILING_AVAILABLE_PYTORCH_VERSION XPU_PROFILING_AVAILABLE_PYTORCH_VERSION",
    ),
    Area("accelerate.utils.dataclasses", _FSDP, "get_module_class_from_name"),
    Area("accelerate.utils.dataclasses", _MEGATRON, "add_model_config_to_megatron_parser"),
    Area("accelerate.utils.deepspeed", _DEEPSPEED, "get_active_deepspeed_plugin map_pytorch_optim_to_deepspeed"),
    Area("accelerate.utils.environment", _FP8, "check_cuda_fp8_capability"),
    Area(
        "accelerate.utils.environment",
        _PARALLEL,
        "check_cuda_p2p_ib_support get_cpu_distributed_information get_current_device_type get_gpu_info "
        "set_numa_affinity",
    ),
    Area("accelerate.utils.fsdp_utils", _FSDP, _FSDP_NAMES),
    Area("accelerate.utils.imports", _DEEPSPEED, "deepspeed_required"),
    Area("accelerate.utils.imports", _FP8, "torchao_required"),
    Area(
        "accelerate.utils.launch",
        _PARALLEL,
        "PrepareForLaunch _convert_nargs_to_dict _filter_args prepare_deepspeed_cmd_env prepare_multi_gpu_env "
        "prepare_sagemager_args_inputs prepare_simple_launcher_cmd_env prepare_tpu",
    ),
    Area(
        "accelerate.utils.megatron_lm",
        _MEGATRON,
        "AbstractTrainStep BertTrainStep GPTTrainStep MegatronEngine MegatronLMDummyDataLoader "
        "MegatronLMDummyScheduler MegatronLMOptimizerWrapper MegatronLMSchedulerWrapper T5TrainStep "
        "avg_losses_across_data_parallel_group gather_across_data_parallel_groups megatron_lm_initialize "
        "megatron_lm_prepare_data_loader megatron_lm_prepare_model_optimizer_scheduler megatron_lm_prepare_optimizer "
        "megatron_lm_prepare_scheduler",
    ),
    Area("accelerate.utils.modeling", _BIG_MODELS, _MODELING_NAMES),
    Area("accelerate.utils.modeling", _FSDP, "get_grad_scaler get_mixed_precision_context_manager"),
    Area("accelerate.utils.offload", _BIG_MODELS, _OFFLOAD_NAMES),
    Area("accelerate.utils.operations", _DEEPSPEED, "GatheredParameters"),
    Area("accelerate.utils.operations", _PARALLEL, "copy_tensor_to_devices"),
    Area("accelerate.utils.other", _BY_HAND, "clean_state_dict_for_safetensors"),
    Area("accelerate.utils.other", _DEEPSPEED, "compile_regions_deepspeed"),
    Area("accelerate.utils.other", _FSDP, "compile_regions_fsdp2 get_module_children_bottom_up"),
    Area("accelerate.utils.other", _PARALLEL, "get_model_tp_size model_has_dtensor"),
    Area("accelerate.utils.torch_xla", _TPU, "install_xla"),
    Area(
        "accelerate.utils.transformer_engine",
        _FP8,
        "apply_fp8_autowrap contextual_fp8_autocast convert_model has_transformer_engine_layers",
    ),
)

# Taken at the top of a module by transformers, peft, diffusers, trl, sentence-transformers or optimum.
NEEDED_BY_CLIENTS = frozenset(
    {
        "AlignDevicesHook",
        "CpuOffload",
        "ModelHook",
        "add_hook_to_module",
        "clean_device_map",
        "compute_module_sizes",
        "convert_file_size_to_int",
        "cpu_offload_with_hook",
        "dispatch_model",
        "get_balanced_memory",
        "get_max_layer_size",
        "get_max_memory",
        "get_parameters_from_modules",
        "infer_auto_device_map",
        "init_empty_weights",
        "load_checkpoint_and_dispatch",
        "load_fsdp_model",
        "load_fsdp_optimizer",
        "load_offloaded_weights",
        "named_module_tensors",
        "offload_state_dict",
        "offload_weight",
        "remove_hook_from_module",
        "remove_hook_from_submodules",
        "save_fsdp_model",
        "save_fsdp_optimizer",
        "save_offload_index",
        "set_module_tensor_to_device",
    }
)

_FLAT = "accelerate.utils"


class StandIn:
    """Base of what stands for a class or function that is missing; calling it refuses."""

    why: str = ""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse, whatever the arguments.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(cls.why)


@cache
def _stand_in(name: str, what: str) -> type[StandIn]:
    why = f"{name} cannot be used: {what} is not part of this version of accelerate."
    return type(name, (StandIn,), {"__doc__": why, "__module__": __name__, "why": why})


def missing(module: str) -> dict[str, str]:
    """Return the names that `module` lacks, each with what it needs; `accelerate.utils` has those of its modules."""
    return {
        name: area.what
        for area in AREAS
        if area.module == module or (module == _FLAT and area.module.startswith(f"{_FLAT}."))
        for name in area.names.split()
    }


def find(module: str, name: str) -> type[StandIn] | None:
    """Return what stands for `module.name` if that is missing; None if it is not.

    Raises:
        ImportError: It is missing, and nothing stands for it. Python hides the text of the more usual
            `AttributeError` in `from ... import ...`.
    """
    what = missing(module).get(name)
    if what is None:
        return None
    if name in NEEDED_BY_CLIENTS:
        return _stand_in(name, what)
    raise ImportError(f"{module}.{name} is missing: {what} is not part of this version of accelerate.")


def only(module: str, name: str) -> type[StandIn]:
    """Be the `__getattr__` of a module that has no lazy names: return what stands for `name`.

    Raises:
        ImportError: It is missing.
        AttributeError: It has never been there.
    """
    found = find(module, name)
    if found is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return found
