"""Decides what one launch will do: which device, which variables, what to warn about. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from accelerate.errors import ConfigError, DeviceError, LaunchError
from accelerate.machine.facts import Accelerator, DefaultDevice, Machine, default_device
from accelerate.settings.knob import Knob, Value
from accelerate.settings.sections import COMPILE, PROCESSES, Settings, knob_named, knobs, value_of
from accelerate.settings.sources import DEFAULT, Kind, Origin, Provenance


@dataclass(frozen=True, slots=True)
class Target:
    """What to run.

    Args:
        name: Path of a script, name of a module, or name of a program.
        args: Its arguments, untouched.
        how: "script", "module" (as `python -m`) or "program" (without Python).
    """

    name: str
    args: tuple[str, ...] = ()
    how: str = "script"


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision: what was decided, the value, the reason, and what set it."""

    what: str
    value: str
    why: str
    origin: Origin = DEFAULT


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchPlan:
    """What one launch will do.

    Args:
        target: What to run.
        processes: Processes in all.
        machines: Machines in all.
        device: Kind of the device that the script will find: "mps", "cuda", "cpu".
        simulated: Whether that device is simulated.
        variables: Environment variables to set, whatever the user has set them to.
        gentle_variables: Environment variables to set only where the user has not set them.
        choices: Every decision with its reason, the device first.
        warnings: One line each: things asked for that will not happen, or that people should know.
    """

    target: Target
    processes: int
    machines: int
    device: str
    variables: Mapping[str, str]
    gentle_variables: Mapping[str, str]
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    simulated: bool = False


def plan(settings: Settings, provenance: Provenance, machine: Machine, target: Target) -> LaunchPlan:
    """Decide what to do.

    Raises:
        ConfigError: Settings that contradict each other.
        DeviceError: A device that is not there, or a precision that the device lacks.
        LaunchError: Several processes.
    """
    _check_simulation(settings, provenance, machine, target)
    chosen = _device(settings, machine)
    _check_device(settings, provenance, machine)
    gpus = _visible_gpus(settings, provenance, machine, chosen)
    _check_one_process(settings, provenance)
    _check_precision(settings, provenance, machine, chosen)
    variables = dict(_written(settings, provenance))
    if settings.processes.num_cpu_threads_per_process:
        variables["OMP_NUM_THREADS"] = str(settings.processes.num_cpu_threads_per_process)
    if gpus:
        variables["CUDA_VISIBLE_DEVICES"] = gpus
    fallback = settings.device.mps_fallback and chosen.kind == "mps"
    return LaunchPlan(
        target=target,
        processes=1,
        machines=1,
        device=chosen.kind,
        variables=variables,
        gentle_variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"} if fallback else {},
        choices=tuple(_choices(settings, provenance, chosen)),
        warnings=tuple(_warnings(settings, provenance, machine, chosen)),
        simulated=settings.device.simulate is not None,
    )


def _device(settings: Settings, machine: Machine) -> DefaultDevice:
    named = settings.device.torch_device
    if named and not settings.device.cpu:
        return DefaultDevice(kind=named.partition(":")[0], why="the environment names it")
    if settings.device.simulate:
        return DefaultDevice(kind=settings.device.simulate, why="it is simulated on the CPU")
    return default_device(machine, settings.device.cpu)


def _label(one: Knob) -> str:
    return one.flag or one.key or one.env


def _said(name: str, provenance: Provenance) -> str:
    """How to speak of a setting and the place that set it."""
    one, origin = knob_named(name), provenance[name]
    if origin.kind is Kind.FLAG:
        return origin.detail
    if origin.kind is Kind.ENV:
        return f"The environment variable {origin.detail}"
    return f"{one.key or one.flag} in {origin.detail}" if origin.detail else _label(one)


def _check_simulation(settings: Settings, provenance: Provenance, machine: Machine, target: Target) -> None:
    if settings.device.simulate is None:
        return
    said = f"{_said('device.simulate', provenance)} {settings.device.simulate}"
    if machine.os == "macOS":
        raise DeviceError(f"{said}: this is a Mac, which has the real one.", fix="Leave it out.")
    if settings.device.cpu:
        raise ConfigError(f"{said} and {_said('device.cpu', provenance)} exclude each other.", fix="Use one of them.")
    if target.how == "program":
        raise ConfigError(f"{said} and --no_python exclude each other.", "Only Python can be simulated.")


def _check_device(settings: Settings, provenance: Provenance, machine: Machine) -> None:
    if settings.processes.distributed_type == "mps" and not (settings.device.cpu or settings.device.simulate):
        mps = machine.accelerator("mps")
        if mps is None or mps.available is False:
            said = _said("processes.distributed_type", provenance)
            why = mps.why_not if mps else f"this machine runs {machine.os}, and mps is the GPU of a Mac"
            raise DeviceError(f"{said} asks for mps, but {why}.", fix="Use --cpu or another file.")
    if settings.processes.multi_gpu:
        _need_cuda("--multi_gpu", machine)


def _need_cuda(said: str, machine: Machine) -> Accelerator:
    cuda = machine.accelerator("cuda")
    if cuda is None or cuda.available is False:
        why = cuda.why_not if cuda else f"this machine runs {machine.os}, which has no CUDA"
        raise DeviceError(f"{said} asks for CUDA GPUs, but {why}.", fix="Leave it out.")
    return cuda


def _visible_gpus(settings: Settings, provenance: Provenance, machine: Machine, chosen: DefaultDevice) -> str | None:
    """The value for CUDA_VISIBLE_DEVICES, or None to leave it alone."""
    text = settings.device.gpu_ids
    if text is None or text.strip().lower() == "all" or chosen.kind == "mps" or settings.device.cpu:
        return None
    said = _said("device.gpu_ids", provenance)
    ids = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in ids):
        raise ConfigError(f"{said} is {text!r}.", "It must be numbers with commas between, or 'all'.")
    cuda = _need_cuda(f"{said} {text}", machine)
    missing = [part for part in ids if int(part) >= cuda.count]
    if missing:
        raise DeviceError(
            f"{said} asks for GPU {missing[0]}, but programs may see {cuda.count} here.",
            "GPUs count from 0.",
        )
    return ",".join(ids)


def _check_one_process(settings: Settings, provenance: Provenance) -> None:
    several = settings.processes
    kind = several.distributed_type
    asked = [
        (
            "processes.num_processes",
            several.num_processes > 1 and not _undone_by_file(settings, provenance),
            f"{several.num_processes} processes",
        ),
        ("processes.num_machines", several.num_machines > 1, f"{several.num_machines} machines"),
        ("processes.multi_gpu", several.multi_gpu, "a process for each GPU"),
        ("processes.use_fsdp", several.use_fsdp, "a model shared between processes"),
        ("processes.use_parallelism_config", several.use_parallelism_config, "work shared by processes"),
        ("processes.distributed_type", kind == "fsdp", "a model shared between processes"),
        (
            "processes.distributed_type",
            kind.startswith("multi_") and provenance["processes.num_processes"].kind is Kind.DEFAULT,
            "a process for each device",
        ),
    ]
    for name, yes, what in asked:
        if yes:
            said = _said(name, provenance)
            raise LaunchError(
                f"{said} asks for {what}, but this version runs one process on one device.",
                fix=_one_process_fix(name, provenance[name].kind),
            )


def _undone_by_file(settings: Settings, provenance: Provenance) -> bool:
    """Whether a file gives a number of processes, and says in another line that the run is not distributed.

    Files for one GPU are often copies of files for several in which only that line was changed.
    """
    several = settings.processes
    origins = {provenance[f"processes.{name}"].kind for name in ("num_processes", "distributed_type")}
    return several.num_processes > 1 and several.distributed_type == "no" and origins == {Kind.FILE}


def _one_process_fix(name: str, kind: Kind) -> str:
    one = knob_named(name)
    if name == "processes.distributed_type":
        return f"Set {one.key} to NO there; accelerate config does."
    if one.kind is bool:
        return "Leave it out."
    return f"Use {one.flags[0]} 1." if kind is Kind.FLAG else f"Use {one.flags[0]} 1, or set it to 1 there."


def _check_precision(settings: Settings, provenance: Provenance, machine: Machine, chosen: DefaultDevice) -> None:
    precision = settings.precision.mixed_precision
    said = f"{_said('precision.mixed_precision', provenance)} is {precision!r}"
    if precision == "fp8":
        raise DeviceError(f"{said}, but {chosen.kind} has no fp8 here.", fix="Use bf16.")
    if precision == "fp16" and chosen.kind == "cpu" and (settings.device.cpu or _knows_all_gpus(machine)):
        raise DeviceError(f"{said}, but the run is on the CPU ({chosen.why}), which has no fp16.", fix="Use bf16.")


def _knows_all_gpus(machine: Machine) -> bool:
    """Whether a torch of this build can only drive the kinds of device that the machine lists."""
    torch = machine.torch
    return torch is None or (torch.hip is None and "+xpu" not in torch.version)


def _written(settings: Settings, provenance: Provenance) -> Iterator[tuple[str, str]]:
    """The variables that carry the settings of flags and file to the script.

    A default is not carried, so that it does not override a variable; nor a switch that a file leaves off.
    """
    for one in knobs():
        kind, value = provenance[one.name].kind, value_of(settings, one.name)
        idle = kind is Kind.FILE and one.kind is bool and value == one.default
        if one.env and kind in (Kind.FLAG, Kind.FILE) and not idle:
            yield one.env, one.text(value)


def _choices(settings: Settings, provenance: Provenance, chosen: DefaultDevice) -> Iterator[Choice]:
    asked = provenance["device.cpu"] if settings.device.cpu else DEFAULT
    yield Choice("device", chosen.kind, chosen.why, asked)
    for one in knobs():
        value, origin = value_of(settings, one.name), provenance[one.name]
        yield Choice(_label(one), _shown(one, value), _REASONS[origin.kind], origin)


_REASONS = {
    Kind.KWARG: "the script says so",
    Kind.FLAG: "given on the command line",
    Kind.FILE: "the configuration file says so",
    Kind.ENV: "set in the environment",
    Kind.DEFAULT: "nothing sets it",
}


def _shown(one: Knob, value: Value) -> str:
    if value is None or value == "":
        return "-"
    return one.text(value).lower() if one.choices else one.text(value)


def _warnings(settings: Settings, provenance: Provenance, machine: Machine, chosen: DefaultDevice) -> Iterator[str]:
    if chosen.unused:
        yield f"running on the CPU, because {chosen.unused}."
    elif settings.device.cpu and machine.os == "macOS" and default_device(machine).kind == "mps":
        yield f"the Apple GPU is not used, because {_asked_for_cpu(provenance['device.cpu'])}."
    if settings.device.mps_fallback and chosen.kind != "mps":
        yield f"{_said('device.mps_fallback', provenance)} has no effect on {chosen.kind}: it belongs to mps."
    yield from _gpu_warnings(settings, provenance, machine, chosen)
    if _undone_by_file(settings, provenance):
        said, kind = _said("processes.num_processes", provenance), knob_named("processes.distributed_type").key
        yield f"{said} is {settings.processes.num_processes}, but {kind} there is NO: running one process."
    if settings.processes.enable_cpu_affinity:
        yield f"{_said('processes.enable_cpu_affinity', provenance)} has no effect in this version."
    yield from _idle_warnings(settings, provenance)


def _idle_warnings(settings: Settings, provenance: Provenance) -> Iterator[str]:
    given = [
        one for one in knobs() if provenance[one.name].kind is Kind.FLAG and value_of(settings, one.name) != one.default
    ]
    affinity = knob_named("processes.enable_cpu_affinity")
    idle = [one.flags[0] for one in given if one.group == PROCESSES and one is not affinity]
    if idle:
        yield f"{', '.join(idle)}: no effect with one process."
    idle = [one.flags[0] for one in given if one.group == COMPILE]
    if idle and settings.compile.backend == "no":
        yield f"{', '.join(idle)}: no effect without {knob_named('compile.backend').flags[0]}."


def _asked_for_cpu(origin: Origin) -> str:
    if origin.kind is Kind.FLAG:
        return f"{origin.detail} was given"
    if origin.kind is Kind.FILE:
        return f"{knob_named('device.cpu').key} is true in {origin.detail}"
    return f"the environment variable {origin.detail} says so"


def _gpu_warnings(settings: Settings, provenance: Provenance, machine: Machine, chosen: DefaultDevice) -> Iterator[str]:
    ids, origin = settings.device.gpu_ids, provenance["device.gpu_ids"]
    if ids and ids.lower() != "all":
        if chosen.kind != "cuda" and origin.kind is Kind.FLAG:
            yield f"{origin.detail} has no effect on {chosen.kind}: it belongs to CUDA."
        elif chosen.kind == "cuda" and "," in ids:
            yield f"one process uses one GPU: the first of {ids}."
    cuda = machine.accelerator("cuda")
    unasked = provenance["processes.num_processes"].kind is Kind.DEFAULT and ids is None
    if chosen.kind == "cuda" and cuda and cuda.count > 1 and unasked:
        yield f"this machine has {cuda.count} CUDA GPUs; the script runs as one process and uses one of them."
