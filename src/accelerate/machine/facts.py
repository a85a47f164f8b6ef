"""What is known about a computer, and which device kind follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Cores:
    """Processor cores.

    `total` counts those this process may use. The other two are known on Apple silicon only.
    """

    total: int
    performance: int | None = None
    efficiency: int | None = None


@dataclass(frozen=True, kw_only=True)
class PythonFacts:
    """The Python that runs, which need not be built for the processor it runs on.

    `translated` is true for an x86_64 Python that macOS runs through Rosetta.
    """

    version: str
    arch: str
    executable: str = ""
    translated: bool = False


@dataclass(frozen=True, kw_only=True)
class TorchFacts:
    """The PyTorch that `import torch` would find, read from its files.

    `mps_built` is None when the files do not tell. `cuda` and `hip` are the versions it was built
    for. `mps_needs` is the oldest macOS, as (major, minor), on which its MPS code runs.
    """

    version: str
    path: str = ""
    cuda: str | None = None
    hip: str | None = None
    mps_built: bool | None = False
    mps_needs: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """A kind of device that this operating system can have.

    Args:
        kind: "mps" or "cuda".
        count: Devices of that kind that programs may see; 0 when the hardware is not there or is hidden.
        name: The name of the first one, when known.
        available: Whether PyTorch can be expected to use it; None when only PyTorch itself can tell.
        why_not: When it is not available, the reason and what to do; else empty.
    """

    kind: str
    count: int
    name: str = ""
    available: bool | None
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One computer, as far as files and system calls tell.

    Args:
        os: "macOS", "Linux", or what `sys.platform` says.
        os_version: On a Mac the version of macOS, elsewhere of the kernel.
        arch: Of the processor, whatever Python was built for: "arm64", "x86_64", "aarch64".
        chip: Its name, for example "Apple M2 Max"; empty when unknown.
        cores: See `Cores`.
        memory_bytes: Physical memory.
        python: See `PythonFacts`.
        torch: None when PyTorch is not installed.
        accelerators: Best first; a kind that the operating system cannot have is left out.
    """

    os: str
    os_version: str
    arch: str
    chip: str = ""
    cores: Cores
    memory_bytes: int
    python: PythonFacts
    torch: TorchFacts | None = None
    accelerators: tuple[Accelerator, ...] = field(default=())

    @property
    def apple_silicon(self) -> bool:
        """Whether this is a Mac with Apple's own processor, and so with a GPU that MPS drives."""
        return self.os == "macOS" and self.arch == "arm64"

    def accelerator(self, kind: str) -> Accelerator | None:
        """What is known about the devices of `kind`, or None where there can be none."""
        return next((found for found in self.accelerators if found.kind == kind), None)


@dataclass(frozen=True, kw_only=True)
class DefaultDevice:
    """The device kind that a run gets when nothing else is asked for.

    `why` is a clause that reads well after "because". `unused` names a device that is in the machine
    but cannot be used, with reason and remedy: something the user should hear about; else empty.
    """

    kind: str
    why: str
    unused: str = ""


def default_device(machine: Machine, cpu: bool = False) -> DefaultDevice:
    """Choose the device kind for a run on `machine`: the first accelerator that works, else the CPU.

    Args:
        machine: The computer.
        cpu: Whether the user asked for the CPU.
    """
    if cpu:
        return DefaultDevice(kind="cpu", why="the CPU was asked for")
    for found in machine.accelerators:
        if found.available is not False and found.count:
            return DefaultDevice(kind=found.kind, why=_why(found, machine))
    reasons = [found.why_not for found in machine.accelerators]
    unused = [found.why_not for found in machine.accelerators if found.count]
    return DefaultDevice(
        kind="cpu",
        why=reasons[0] if reasons else f"no GPU is known for {machine.os}",
        unused=unused[0] if unused else "",
    )


def _why(found: Accelerator, machine: Machine) -> str:
    if found.kind == "mps":
        sure = "" if found.available else " and PyTorch may have MPS"
        return f"this Mac has an {machine.chip or 'Apple'} GPU{sure}"
    return f"this machine has {found.count} x {found.name or 'NVIDIA GPU'}"


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(str(part) for part in version)


def mps_accelerator(
    arch: str, chip: str, macos: tuple[int, int] | None, python: PythonFacts, torch: TorchFacts | None
) -> Accelerator:
    """Judge whether MPS can be used on a Mac with these parts; `macos` is (major, minor) if known."""
    if arch != "arm64":
        reason = "this Mac has an Intel processor, and MPS needs Apple silicon"
        return Accelerator(kind="mps", count=0, available=False, why_not=reason)
    reason = _mps_obstacle(macos, python, torch)
    built = torch is not None and torch.mps_built
    available = False if reason else (True if built else None)
    return Accelerator(kind="mps", count=1, name=f"{chip or 'Apple'} GPU", available=available, why_not=reason)


def _mps_obstacle(macos: tuple[int, int] | None, python: PythonFacts, torch: TorchFacts | None) -> str:
    if python.translated or python.arch != "arm64":
        return (
            f"this Python ({python.executable or python.version}) is built for {python.arch} and runs "
            "under Rosetta, so it cannot reach the Apple GPU; install an arm64 Python"
        )
    if torch is None:
        return "PyTorch is not installed for this Python; run: pip install torch"
    if torch.mps_built is False:
        return (
            f"this PyTorch ({torch.version}, {torch.path}) was built without MPS; run: "
            "pip install --force-reinstall torch"
        )
    if macos and torch.mps_needs and macos < torch.mps_needs:
        return (
            f"macOS {_dotted(macos)} is older than {_dotted(torch.mps_needs)}, which PyTorch "
            f"{torch.version} needs for MPS; update macOS"
        )
    return ""


def cuda_accelerator(present: int, visible: int, hidden_by: str, name: str, torch: TorchFacts | None) -> Accelerator:
    """Judge whether CUDA can be used.

    Args:
        present: NVIDIA GPUs in the machine.
        visible: How many of them programs may see.
        hidden_by: What hides the others, for example "CUDA_VISIBLE_DEVICES=''".
        name: Name of the first GPU.
        torch: The installed PyTorch.
    """
    if not present:
        reason = "no NVIDIA GPU was found"
    elif not visible:
        reason = f"{hidden_by} hides the {name or 'NVIDIA GPU'}"
    elif torch is None:
        reason = "PyTorch is not installed for this Python; run: pip install torch"
    elif torch.cuda is None:
        reason = f"this PyTorch ({torch.version}, {torch.path}) was built without CUDA; install one that has it"
    else:
        reason = ""
    return Accelerator(kind="cuda", count=visible, name=name, available=not reason, why_not=reason)
