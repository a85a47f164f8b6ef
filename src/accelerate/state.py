"""The API's state objects: views of the current run. All objects of one class share their attributes."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from accelerate import runtime
from accelerate.devices import registry
from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.log import topic
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DistributedType
from accelerate.precision import choose as choose_precision
from accelerate.precision.full import FULL
from accelerate.process import ProcessControl
from accelerate.training.accumulation import GradientState
from accelerate.training.compile import plugin_from

__all__ = ["AcceleratorState", "DistributedType", "GradientState", "PartialState"]


class PartialState(ProcessControl):
    """Where this process runs: device, rank and number of processes. The first one decides, later ones agree.

    Args:
        cpu: Run on the CPU even where there is another device. It also wins when a run is already going.
        kwargs: Options of the process group; without effect in a run of one process.

    Raises:
        LaunchError, DeviceError, ConfigError: See `accelerate.runtime.start`.
    """

    _shared_state: ClassVar[dict[str, Any]] = runtime.SHARED

    def __init__(self, cpu: bool = False, **kwargs: Any) -> None:
        self.__dict__ = self._shared_state
        if not self.initialized:
            runtime.start({"device.cpu": True} if cpu else None)
        elif cpu and self.runtime.backend.kind != "cpu":
            topic("state").warning(
                "A run on %s was already going when cpu=True was said: the CPU is used from now on.",
                self.runtime.backend.kind,
            )
            runtime.move_to_cpu()

    @property
    def initialized(self) -> bool:
        """Whether a run is going."""
        return bool(self._shared_state)

    @property
    def default_device(self) -> torch.device:
        """The best device of this machine, whatever the run uses."""
        return torch.device(registry.choose().backend.kind)

    @property
    def backend(self) -> str | None:
        """The communication library; None in a run of one process."""
        return None

    @property
    def debug(self) -> bool:
        """Whether exchanges between processes are checked."""
        return self.runtime.settings.debug.debug

    @property
    def fork_launched(self) -> bool:
        """Whether this process was forked by `notebook_launcher`."""
        return False

    def set_device(self) -> None:
        """Make the device of this process torch's current one."""
        self.runtime.backend.claim(self.local_process_index)

    def destroy_process_group(self, group: Any = None) -> None:
        """End communication with the other processes; a run of one process has none."""

    @classmethod
    def _reset_state(cls) -> None:
        runtime.stop()

    def __repr__(self) -> str:
        return (
            f"Distributed environment: {self.distributed_type}\n"
            f"Num processes: {self.num_processes}\n"
            f"Process index: {self.process_index}\n"
            f"Local process index: {self.local_process_index}\n"
            f"Device: {self.device}\n"
        )


class AcceleratorState(PartialState):
    """What `PartialState` knows, and what an `Accelerator` was told: precision and compilation.

    Args:
        mixed_precision: `no`, `fp16` or `bf16`; None takes the launcher's choice.
        cpu: As for `PartialState`.
        dynamo_plugin: How prepared models are compiled; what it leaves open is the launcher's choice.
        plugins: Options of engines and strategies that this version does not drive, all None.

    Raises:
        ConfigError: Another `mixed_precision` is already in use, or a plugin is given.
        DeviceError: The device lacks the precision.
    """

    _shared_state: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        mixed_precision: str | None = None,
        cpu: bool = False,
        dynamo_plugin: TorchDynamoPlugin | None = None,
        deepspeed_plugin: Any = None,
        fsdp_plugin: Any = None,
        torch_tp_plugin: Any = None,
        megatron_lm_plugin: Any = None,
        parallelism_config: Any = None,
        _from_accelerator: bool = False,
        **kwargs: Any,
    ) -> None:
        refuse_plugins(
            deepspeed_plugin=deepspeed_plugin,
            fsdp_plugin=fsdp_plugin,
            torch_tp_plugin=torch_tp_plugin,
            megatron_lm_plugin=megatron_lm_plugin,
        )
        if parallelism_config is not None:
            parallelism_config.check()
        started = bool(self._shared_state) and runtime.running() is not None
        PartialState(cpu, **kwargs)
        self.__dict__ = self._shared_state
        if started:
            self._check_same(mixed_precision)
        kwarg = {"precision.mixed_precision": mixed_precision}
        resolved = environment.read(kwarg)
        mode = self._shared_state.get("mode") if started else resolved.settings.precision.mixed_precision
        came_from = str(resolved.provenance["precision.mixed_precision"])
        runtime.change(
            precision=choose_precision.choose(str(mode), self.runtime.backend.traits, came_from=came_from),
            compile=plugin_from(resolved.settings.compile, dynamo_plugin),
        )
        self.mode: str = str(mode)
        self.parallelism_config = parallelism_config or self._shared_state.get("parallelism_config")

    def _check_same(self, mixed_precision: str | None) -> None:
        if mixed_precision is not None and str(mixed_precision) != self._shared_state["mode"]:
            raise ConfigError(
                f"mixed_precision is {str(mixed_precision)!r}, but this process already runs with "
                f"{self._shared_state['mode']!r}.",
                "A process has one precision.",
                f"Pass mixed_precision='{mixed_precision}' to the first Accelerator.",
            )

    @property
    def mixed_precision(self) -> str:
        """The name of the precision: `no`, `fp16` or `bf16`."""
        return self.mode

    @property
    def dynamo_plugin(self) -> TorchDynamoPlugin:
        """How prepared models are compiled."""
        return self.runtime.compile

    @property
    def is_fsdp2(self) -> bool:
        """Whether models are sharded with FSDP2."""
        return False

    deepspeed_plugin: Any = None
    fsdp_plugin: Any = None
    torch_tp_plugin: Any = None
    device_mesh: Any = None

    @classmethod
    def _reset_state(cls, reset_partial_state: bool = False) -> None:
        cls._shared_state.clear()
        if runtime.running() is not None:
            runtime.change(precision=FULL, compile=TorchDynamoPlugin())
        if reset_partial_state:
            PartialState._reset_state()

    def __repr__(self) -> str:
        return super().__repr__() + f"\nMixed precision type: {self.mixed_precision}\n"


def refuse_plugins(**plugins: Any) -> None:
    """Raise a ConfigError when an option of an engine or strategy that this version does not drive is given."""
    for name, plugin in plugins.items():
        if plugin is not None:
            raise ConfigError(
                f"{name} is given.",
                "This version trains one model on one device.",
                f"Leave {name} out.",
            )
