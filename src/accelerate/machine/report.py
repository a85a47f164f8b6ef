"""A description of the computer and its software, as text to paste into a bug report and as JSON."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate.machine.facts import Accelerator, Machine, default_device

PACKAGES = (
    *("numpy", "safetensors", "huggingface-hub", "torchvision", "timm", "transformers", "peft", "trl"),
    *("diffusers", "datasets"),
)
"""Distributions whose versions matter in a bug report."""

_VARIABLES = re.compile(
    r"(ACCELERATE|PYTORCH|TORCH|TORCHINDUCTOR|FSDP|NCCL|GLOO|OMP|MKL|CUDA)_\w+|HF_HOME|XDG_CACHE_HOME"
)
_SECRET = re.compile(r"TOKEN|SECRET|KEY|PASSWORD")


@dataclass(frozen=True, kw_only=True)
class ConfigState:
    """The configuration file that a launch would use.

    `content` is None when there is no file or when `problem` says why it cannot be used.
    """

    path: str
    content: Mapping[str, Any] | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that `accelerate env` tells.

    Args:
        version: Of this package.
        location: Folder of this package.
        machine: The computer.
        gpu_cores: Cores of the Apple GPU, when known.
        packages: Distribution -> version, those of `PACKAGES` that are installed.
        variables: The environment variables that change how training runs.
        config: The configuration file.
    """

    version: str
    location: str
    machine: Machine
    gpu_cores: int | None
    packages: Mapping[str, str]
    variables: Mapping[str, str]
    config: ConfigState


def installed_packages(names: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The versions of those distributions that are installed."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def relevant_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that belong in a bug report, by name; none that may hold a secret."""
    return {name: environ[name] for name in sorted(environ) if _VARIABLES.fullmatch(name) and not _SECRET.search(name)}


def apple_gpu_cores(run: Callable[[Sequence[str]], str] | None = None) -> int | None:
    """Cores of the Apple GPU, from the device tree; None when it does not tell. Starts a program: some 20 ms."""
    try:
        text = (run or _output)(["/usr/sbin/ioreg", "-r", "-c", "AGXAccelerator", "-d", "1", "-w", "0"])
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'"gpu-core-count"\s*=\s*(\d+)', text)
    return int(found.group(1)) if found else None


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    return done.stdout


def as_text(report: Report, home: str = "") -> str:
    """The report as lines `- what: value`.

    Args:
        report: What to tell.
        home: The person's home folder, shown as `~`.
    """
    lines = [f"- {label}: {value}" for label, value in _rows(report)]
    lines += _config_lines(report.config)
    return _tidy("\n".join(lines), home)


def as_json(report: Report, home: str = "") -> dict[str, Any]:
    """The report as plain data, with the same content as the text."""
    chosen = default_device(report.machine)
    data = {
        "accelerate": {"version": report.version, "location": report.location},
        "machine": dataclasses.asdict(report.machine) | {"gpu_cores": report.gpu_cores},
        "default_device": dataclasses.asdict(chosen),
        "packages": dict(report.packages),
        "environment": dict(report.variables),
        "config": dataclasses.asdict(report.config),
    }
    return _tidy_values(data, home)


def _rows(report: Report) -> list[tuple[str, str]]:
    machine = report.machine
    chosen = default_device(machine)
    rows = [
        ("`Accelerate` version", f"{report.version} (independent implementation, Mac first)"),
        ("`Accelerate` location", report.location),
        ("Platform", f"{machine.os} {machine.os_version} on {machine.arch}"),
        ("Chip", _chip(report)),
        ("Memory", f"{machine.memory_bytes / 2**30:.1f} GiB"),
        ("Python version", _python(machine)),
        ("PyTorch version", _torch(machine)),
    ]
    rows += [(found.kind.upper(), _state(found, machine)) for found in machine.accelerators]
    rows.append(("Default device", f"{chosen.kind}, because {chosen.why}"))
    rows.append(("Packages", ", ".join(f"{name} {version}" for name, version in report.packages.items())))
    variables = [f"{name}={value}" for name, value in report.variables.items()]
    rows.append(("Environment", ", ".join(variables) or "no variable of interest is set"))
    return rows


def _chip(report: Report) -> str:
    machine = report.machine
    cores = f"{machine.cores.total} cores"
    if machine.cores.performance is not None and machine.cores.efficiency is not None:
        cores += f" ({machine.cores.performance} performance, {machine.cores.efficiency} efficiency)"
    gpu = f", {report.gpu_cores} GPU cores" if report.gpu_cores else ""
    return f"{machine.chip or 'unknown'}, {cores}{gpu}"


def _python(machine: Machine) -> str:
    rosetta = ", under Rosetta" if machine.python.translated else ""
    return f"{machine.python.version} ({machine.python.arch}{rosetta}), {machine.python.executable}"


def _torch(machine: Machine) -> str:
    torch = machine.torch
    if torch is None:
        return "not installed"
    build = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else "no CUDA"
    return f"{torch.version} ({build}), {torch.path}"


def _state(found: Accelerator, machine: Machine) -> str:
    # This report never starts PyTorch, so it must not sound as if PyTorch had been asked.
    words = {True: "should be available", False: "not available", None: "may be available"}
    state = words[found.available] + " (judged from files, PyTorch was not started)"
    if found.kind == "mps" and machine.torch is not None:
        built = {True: "built in", False: "not built in", None: "unknown whether built in"}
        state = f"{built[machine.torch.mps_built]}, {state}"
    if found.count and found.name:
        state = f"{found.count} x {found.name}, {state}"
    return f"{state}: {found.why_not}" if found.why_not else state


def _config_lines(config: ConfigState) -> list[str]:
    if config.problem:
        return [f"- `Accelerate` config: cannot be used: {config.problem}"]
    if config.content is None:
        return [f"- `Accelerate` config: none ({config.path} is not there)"]
    return [f"- `Accelerate` config ({config.path}):", *_nested(config.content, "    ")]


def _nested(content: Mapping[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}- {key}:", *_nested(value, indent + "    ")]
        else:
            lines.append(f"{indent}- {key}: {value}")
    return lines


def _tidy(text: str, home: str) -> str:
    if len(Path(home).parts) < 2:
        return text
    return re.sub(rf"{re.escape(home.rstrip('/'))}(?![\w.-])", "~", text)


def _tidy_values(value: Any, home: str) -> Any:
    if isinstance(value, str):
        return _tidy(value, home)
    if isinstance(value, Mapping):
        return {key: _tidy_values(item, home) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tidy_values(item, home) for item in value]
    return value
