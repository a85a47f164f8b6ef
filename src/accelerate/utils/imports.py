"""Where programs look for what is installed and usable."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.devices.support import (
    is_bf16_available,
    is_cuda_available,
    is_fp16_available,
    is_mps_available,
    is_rocm_available,
)
from accelerate.machine.packages import (
    is_4bit_bnb_available,
    is_8bit_bnb_available,
    is_aim_available,
    is_bitsandbytes_multi_backend_available,
    is_bnb_available,
    is_boto3_available,
    is_clearml_available,
    is_comet_ml_available,
    is_datasets_available,
    is_dvclive_available,
    is_import_timer_available,
    is_matplotlib_available,
    is_mlflow_available,
    is_numpy_available,
    is_pandas_available,
    is_peft_available,
    is_pynvml_available,
    is_pytest_available,
    is_rich_available,
    is_schedulefree_available,
    is_swanlab_available,
    is_tensorboard_available,
    is_timm_available,
    is_torchao_available,
    is_torchdata_available,
    is_torchdata_stateful_dataloader_available,
    is_torchvision_available,
    is_tqdm_available,
    is_trackio_available,
    is_transformers_available,
    is_triton_available,
    is_wandb_available,
    is_weights_only_available,
)
from accelerate.machine.packages import is_undriven as is_amdsmi_available
from accelerate.machine.packages import is_undriven as is_deepspeed_available
from accelerate.machine.packages import is_undriven as is_fp8_available
from accelerate.machine.packages import is_undriven as is_habana_gaudi1
from accelerate.machine.packages import is_undriven as is_hpu_available
from accelerate.machine.packages import is_undriven as is_lomo_available
from accelerate.machine.packages import is_undriven as is_megatron_lm_available
from accelerate.machine.packages import is_undriven as is_mlu_available
from accelerate.machine.packages import is_undriven as is_msamp_available
from accelerate.machine.packages import is_undriven as is_musa_available
from accelerate.machine.packages import is_undriven as is_neuron_available
from accelerate.machine.packages import is_undriven as is_npu_available
from accelerate.machine.packages import is_undriven as is_pippy_available
from accelerate.machine.packages import is_undriven as is_sagemaker_available
from accelerate.machine.packages import is_undriven as is_sdaa_available
from accelerate.machine.packages import is_undriven as is_torch_xla_available
from accelerate.machine.packages import is_undriven as is_transformer_engine_available
from accelerate.machine.packages import is_undriven as is_transformer_engine_mxfp8_available
from accelerate.machine.packages import is_undriven as is_xccl_available
from accelerate.machine.packages import is_undriven as is_xpu_available

__all__ = [
    "is_4bit_bnb_available",
    "is_8bit_bnb_available",
    "is_aim_available",
    "is_amdsmi_available",
    "is_bf16_available",
    "is_bitsandbytes_multi_backend_available",
    "is_bnb_available",
    "is_boto3_available",
    "is_clearml_available",
    "is_comet_ml_available",
    "is_cuda_available",
    "is_datasets_available",
    "is_deepspeed_available",
    "is_dvclive_available",
    "is_fp8_available",
    "is_fp16_available",
    "is_habana_gaudi1",
    "is_hpu_available",
    "is_import_timer_available",
    "is_lomo_available",
    "is_matplotlib_available",
    "is_megatron_lm_available",
    "is_mlflow_available",
    "is_mlu_available",
    "is_mps_available",
    "is_msamp_available",
    "is_musa_available",
    "is_neuron_available",
    "is_npu_available",
    "is_numpy_available",
    "is_pandas_available",
    "is_peft_available",
    "is_pippy_available",
    "is_pynvml_available",
    "is_pytest_available",
    "is_rich_available",
    "is_rocm_available",
    "is_sagemaker_available",
    "is_schedulefree_available",
    "is_sdaa_available",
    "is_swanlab_available",
    "is_tensorboard_available",
    "is_timm_available",
    "is_torch_xla_available",
    "is_torchao_available",
    "is_torchdata_available",
    "is_torchdata_stateful_dataloader_available",
    "is_torchvision_available",
    "is_tqdm_available",
    "is_trackio_available",
    "is_transformer_engine_available",
    "is_transformer_engine_mxfp8_available",
    "is_transformers_available",
    "is_triton_available",
    "is_wandb_available",
    "is_weights_only_available",
    "is_xccl_available",
    "is_xpu_available",
]

__getattr__ = partial(notbuilt.only, __name__)
