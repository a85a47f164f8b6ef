"""Options that are passed on to classes and functions of torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from accelerate.plugins.base import KwargsHandler
from accelerate.plugins.enums import DDPCommunicationHookType


@dataclass
class AutocastKwargs(KwargsHandler):
    """Options of `torch.autocast` for `Accelerator.autocast` and the forward of prepared models.

    Args:
        enabled: False turns autocast off inside the region.
        cache_enabled: Whether cast weights are kept for the length of the region; None leaves it to torch.
    """

    enabled: bool = True
    cache_enabled: bool | None = None


@dataclass
class GradScalerKwargs(KwargsHandler):
    """Options of the gradient scaler that `mixed_precision="fp16"` uses.

    Args:
        init_scale: The factor on the loss at the start.
        growth_factor: What the scale is multiplied by after `growth_interval` steps without infinities.
        backoff_factor: What the scale is multiplied by when a gradient is not finite.
        growth_interval: Steps between growths.
        enabled: False makes scaling a no-op.
    """

    init_scale: float = 65536.0
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000
    enabled: bool = True


@dataclass
class DistributedDataParallelKwargs(KwargsHandler):
    """Options of `torch.nn.parallel.DistributedDataParallel`; without effect in a run of one process.

    Args:
        dim: Dimension along which torch scatters.
        broadcast_buffers: Whether buffers are sent from rank 0 before each forward.
        bucket_cap_mb: Size of a gradient bucket in MiB.
        find_unused_parameters: Whether the graph is searched for parameters that got no gradient.
        check_reduction: Accepted for old scripts; torch ignores it.
        gradient_as_bucket_view: Whether gradients live in the buckets, which saves their copy.
        static_graph: Whether the graph is the same in every step.
        comm_hook: How gradients are compressed between processes.
        comm_wrapper: A cast around `comm_hook`: NO, FP16 or BF16.
        comm_state_option: Options of the PowerSGD state.
    """

    dim: int = 0
    broadcast_buffers: bool = True
    bucket_cap_mb: int = 25
    find_unused_parameters: bool = False
    check_reduction: bool = False
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
    comm_hook: DDPCommunicationHookType = DDPCommunicationHookType.NO
    comm_wrapper: DDPCommunicationHookType = DDPCommunicationHookType.NO
    comm_state_option: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that torch's constructor takes: all but those of the communication hook."""
        return {name: value for name, value in super().to_dict().items() if not name.startswith("comm_")}


@dataclass
class InitProcessGroupKwargs(KwargsHandler):
    """Options of `torch.distributed.init_process_group`; without effect in a run of one process.

    Args:
        backend: Name of the communication library; None lets the device choose.
        init_method: Rendezvous URL; None takes the launcher's.
        timeout: How long a collective may wait; None means 10 minutes for nccl, 30 for all others.
    """

    backend: str | None = "nccl"
    init_method: str | None = None
    timeout: timedelta | None = None

    def __post_init__(self) -> None:
        """Fill in the time-out that fits the backend."""
        if self.timeout is None:
            self.timeout = timedelta(minutes=10 if self.backend == "nccl" else 30)
