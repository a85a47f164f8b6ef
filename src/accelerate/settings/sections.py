"""The options of a run, in sections. This is the one list of knobs."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accelerate.settings.knob import Answers, Knob, Question, knob, knobs_of

if TYPE_CHECKING:
    from accelerate.machine.facts import Machine

GENERAL = "General"
DEVICE = "Device and precision"
TRAINING = "Training"
COMPILE = "torch.compile"
PROCESSES = "Several processes or machines (this version runs one process)"
GROUPS = (DEVICE, TRAINING, COMPILE, PROCESSES, GENERAL)

DISTRIBUTED_TYPES = (
    *("no", "multi_cpu", "multi_gpu", "multi_npu", "multi_mlu", "multi_sdaa", "multi_musa", "multi_xpu"),
    *("multi_hpu", "multi_neuron", "deepspeed", "fsdp", "xla", "tpu", "megatron_lm", "mps"),
)
DYNAMO_BACKENDS = (
    *("no", "eager", "aot_eager", "inductor", "aot_ts_nvfuser", "nvprims_nvfuser", "cudagraphs", "ofi"),
    *("fx2trt", "onnxrt", "tensorrt", "aot_torchxla_trace_once", "torchxla_trace_once", "tvm"),
    *("hpu_backend", "neuron"),
)


def _has_gpu(answers: Answers, machine: Machine) -> bool:
    return any(found.count and found.available is not False for found in machine.accelerators)


def _on_mps(answers: Answers, machine: Machine) -> bool:
    mps = machine.accelerator("mps")
    return bool(mps and mps.count and mps.available is not False) and not answers.get("device.cpu")


def _offered_precisions(answers: Answers, machine: Machine) -> tuple[str, ...]:
    on_gpu = _has_gpu(answers, machine) and not answers.get("device.cpu")
    return ("no", "fp16", "bf16") if on_gpu else ("no", "bf16")


def _compiles(answers: Answers, machine: Machine) -> bool:
    return answers.get("compile.backend", "no") != "no"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSection:
    """Which device of a machine."""

    cpu: bool = knob(
        False,
        flag="cpu",
        key="use_cpu",
        env="ACCELERATE_USE_CPU",
        group=DEVICE,
        help="Run on the CPU, even where there is a GPU.",
        question=Question(text="Use the CPU only, although this machine has a GPU?", when=_has_gpu),
    )
    mps_fallback: bool = knob(
        False,
        flag="mps_fallback",
        key="mps_fallback",
        env="ACCELERATE_MPS_FALLBACK",
        group=DEVICE,
        own=True,
        help="Run operations that the Apple GPU lacks on the CPU (slow) instead of stopping with an error.",
        question=Question(
            text="Run operations that the Apple GPU lacks on the CPU? (slow; otherwise they stop the run)",
            when=_on_mps,
        ),
    )
    torch_device: str | None = knob(
        None,
        kind=str,
        env="ACCELERATE_TORCH_DEVICE",
        group=DEVICE,
        help="The device by its PyTorch name, as in mps or cuda:1.",
    )
    gpu_ids: str | None = knob(
        None,
        kind=str,
        flag="gpu_ids",
        key="gpu_ids",
        group=DEVICE,
        help="The CUDA GPUs to use, by number with commas between, or 'all'.",
    )
    simulate: str | None = knob(
        None,
        kind=str,
        flag="simulate",
        env="ACCELERATE_SIMULATE",
        group=DEVICE,
        choices=("mps",),
        help="Simulate a device that this machine lacks, to test for it: the Apple GPU, on Linux, at the CPU's speed.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PrecisionSection:
    """The number formats of a run."""

    mixed_precision: str = knob(
        "no",
        flag="mixed_precision",
        key="mixed_precision",
        env="ACCELERATE_MIXED_PRECISION",
        group=DEVICE,
        choices=("no", "fp16", "bf16", "fp8"),
        help="Compute in 16-bit numbers where that is safe: bf16 or fp16; 'no' computes in 32 bits.",
        question=Question(text="Which mixed precision?", offer=_offered_precisions),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSection:
    """The training loop."""

    gradient_accumulation_steps: int = knob(
        1,
        flag="gradient_accumulation_steps",
        key="gradient_accumulation_steps",
        env="ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
        group=TRAINING,
        least=1,
        own=True,
        help="Batches whose gradients are added up before the optimizer steps.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class CompileSection:
    """How `torch.compile` is used."""

    backend: str = knob(
        "no",
        flag="dynamo_backend",
        key="dynamo_config.dynamo_backend",
        env="ACCELERATE_DYNAMO_BACKEND",
        group=COMPILE,
        choices=DYNAMO_BACKENDS,
        capitals=True,
        help="Compile the model with this backend of torch.compile; 'no' does not compile.",
        question=Question(
            text="Compile the model with torch.compile?",
            offer=lambda answers, machine: ("no", "inductor", "aot_eager", "eager"),
        ),
    )
    mode: str = knob(
        "default",
        flag="dynamo_mode",
        key="dynamo_config.dynamo_mode",
        env="ACCELERATE_DYNAMO_MODE",
        group=COMPILE,
        choices=("default", "reduce-overhead", "max-autotune"),
        help="What the compiler aims for.",
        question=Question(text="What should the compiler aim for?", when=_compiles),
    )
    fullgraph: bool = knob(
        False,
        flag="dynamo_use_fullgraph",
        key="dynamo_config.dynamo_use_fullgraph",
        env="ACCELERATE_DYNAMO_USE_FULLGRAPH",
        group=COMPILE,
        help="Fail when the model cannot be compiled as one graph.",
        question=Question(text="Insist on one graph without breaks?", when=_compiles),
    )
    dynamic: bool = knob(
        False,
        flag="dynamo_use_dynamic",
        key="dynamo_config.dynamo_use_dynamic",
        env="ACCELERATE_DYNAMO_USE_DYNAMIC",
        group=COMPILE,
        help="Compile for shapes that change from batch to batch.",
        question=Question(text="Do the shapes change from batch to batch?", when=_compiles),
    )
    regional: bool = knob(
        False,
        flag="dynamo_use_regional_compilation",
        key="dynamo_config.dynamo_use_regional_compilation",
        env="ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION",
        group=COMPILE,
        help="Compile a repeated block once instead of the whole model, which starts faster.",
        question=Question(text="Compile repeated blocks once (faster start)?", when=_compiles),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessesSection:
    """How many processes, on how many machines, and how they find each other."""

    num_processes: int = knob(
        1,
        flag="num_processes",
        key="num_processes",
        group=PROCESSES,
        least=1,
        help="Processes in all, over all machines.",
    )
    num_machines: int = knob(
        1, flag="num_machines", key="num_machines", group=PROCESSES, least=1, help="Machines in all."
    )
    machine_rank: int = knob(
        0,
        flag="machine_rank",
        key="machine_rank",
        group=PROCESSES,
        least=0,
        help="Number of this machine, counted from 0.",
    )
    distributed_type: str = knob(
        "no",
        key="distributed_type",
        group=PROCESSES,
        choices=DISTRIBUTED_TYPES,
        capitals=True,
        help="How the processes share the work, as old configuration files name it.",
    )
    multi_gpu: bool = knob(
        False, flag="multi_gpu", group=PROCESSES, help="Run one process on each CUDA GPU of this machine."
    )
    use_fsdp: bool = knob(
        False, flag="use_fsdp", group=PROCESSES, help="Share model and optimizer between processes (FSDP)."
    )
    use_parallelism_config: bool = knob(
        False,
        flag="use_parallelism_config",
        group=PROCESSES,
        help="Combine several ways of sharing the work (--parallelism_config_...).",
    )
    main_process_ip: str | None = knob(
        None,
        kind=str,
        flag="main_process_ip",
        key="main_process_ip",
        group=PROCESSES,
        help="Address of machine 0.",
    )
    main_process_port: int | None = knob(
        None,
        kind=int,
        flag="main_process_port",
        key="main_process_port",
        group=PROCESSES,
        least=0,
        help="Port on machine 0 where the processes meet; 0 picks a free one.",
    )
    same_network: bool = knob(
        False,
        flag="same_network",
        key="same_network",
        group=PROCESSES,
        help="Say that the machines are on one local network.",
    )
    rdzv_backend: str = knob(
        "static",
        flag="rdzv_backend",
        key="rdzv_backend",
        group=PROCESSES,
        help="How the machines meet: 'static' or 'c10d'.",
    )
    rdzv_conf: str = knob(
        "", flag="rdzv_conf", group=PROCESSES, help="More options for the meeting, as key=value,key=value."
    )
    max_restarts: int = knob(
        0, flag="max_restarts", group=PROCESSES, least=0, help="Restarts after failures before giving up."
    )
    monitor_interval: float = knob(
        0.1, flag="monitor_interval", group=PROCESSES, help="Seconds between looks at the processes."
    )
    tee: str = knob("0", flag="tee", short="-t", group=PROCESSES, help="Copy output into files (see --log_dir).")
    log_dir: str | None = knob(None, kind=str, flag="log_dir", group=PROCESSES, help="Folder for those files.")
    role: str = knob("default", flag="role", group=PROCESSES, help="Name of the processes in those files.")
    num_cpu_threads_per_process: int | None = knob(
        None,
        kind=int,
        flag="num_cpu_threads_per_process",
        group=TRAINING,
        least=1,
        help="CPU threads for each process.",
    )
    enable_cpu_affinity: bool = knob(
        False,
        flag="enable_cpu_affinity",
        key="enable_cpu_affinity",
        group=PROCESSES,
        help="Tie each process to the CPU cores near its GPU (not in this version).",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class DebugSection:
    """Help with finding mistakes."""

    debug: bool = knob(
        False,
        flag="debug",
        key="debug",
        env="ACCELERATE_DEBUG_MODE",
        group=GENERAL,
        help="Check every exchange between processes, and name the one that differs (slower).",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What the user asked for, complete: every knob has a value. Made by `settings.resolve`."""

    device: DeviceSection = DeviceSection()
    precision: PrecisionSection = PrecisionSection()
    training: TrainingSection = TrainingSection()
    compile: CompileSection = CompileSection()
    processes: ProcessesSection = ProcessesSection()
    debug: DebugSection = DebugSection()


_SECTIONS = {
    "device": DeviceSection,
    "precision": PrecisionSection,
    "training": TrainingSection,
    "compile": CompileSection,
    "processes": ProcessesSection,
    "debug": DebugSection,
}


@functools.cache
def knobs() -> tuple[Knob, ...]:
    """Every knob there is, in order of declaration."""
    return tuple(one for name, section in _SECTIONS.items() for one in knobs_of(section, name))


@functools.cache
def knob_named(name: str) -> Knob:
    """The knob `section.field`. Raises KeyError for any other name."""
    for one in knobs():
        if one.name == name:
            return one
    raise KeyError(name)


def value_of(settings: Settings, name: str) -> bool | int | float | str | None:
    """The value of the knob `section.field` in `settings`."""
    section, field = name.split(".")
    return getattr(getattr(settings, section), field)


def build(values: dict[str, bool | int | float | str | None]) -> Settings:
    """Make settings from values by knob name; knobs left out get their default."""
    sections: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        section, field = name.split(".")
        sections.setdefault(section, {})[field] = value
    base = Settings()
    changed = {name: dataclasses.replace(getattr(base, name), **fields) for name, fields in sections.items()}
    return dataclasses.replace(base, **changed)
