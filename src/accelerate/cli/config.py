"""`accelerate config`: makes, renews and shows the configuration file of `accelerate launch`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import click

from accelerate.cli import ui
from accelerate.cli.interview import ask_person, interview
from accelerate.errors import AccelerateError, ConfigError
from accelerate.launch import environment
from accelerate.machine.facts import Machine, default_device
from accelerate.machine.probe import probe
from accelerate.settings import files, legacy
from accelerate.settings.knob import Value
from accelerate.settings.resolve import resolve
from accelerate.settings.sections import build, knob_named, knobs, value_of
from accelerate.settings.sources import Kind

_PRECISIONS = ("no", "fp16", "bf16")

_file_option = click.option(
    "--config_file",
    "--config-file",
    type=Path,
    metavar="FILE",
    help="The file to use instead of the default one; a name that ends in .json means JSON.",
)


@click.group(invoke_without_command=True)
@_file_option
@click.pass_context
def config(ctx: click.Context, config_file: Path | None) -> None:
    """Ask a few questions and write the configuration file.

    `accelerate launch` takes from it what its flags do not say. Only what fits this machine is asked.
    """
    ctx.obj = config_file
    if ctx.invoked_subcommand is None:
        _questionnaire(_named(config_file))


@config.command("default")
@_file_option
@click.option(
    "--mixed_precision",
    "--mixed-precision",
    type=click.Choice(_PRECISIONS),
    default="no",
    show_default=True,
    help="Which mixed precision to write.",
)
@click.pass_obj
def default(of_group: Path | None, config_file: Path | None, mixed_precision: str) -> None:
    """Write a configuration file without asking: one process on the best device of the machine.

    A file that exists is left alone.
    """
    path = write_basic_config(mixed_precision, config_file or of_group)
    if path:
        click.echo(f"Wrote {path}. {_what_follows(probe(environment.variables), cpu=False)}")


@config.command("update")
@_file_option
@click.pass_obj
def update(of_group: Path | None, config_file: Path | None) -> None:
    """Rewrite an older configuration file in today's form; the old one is kept beside it as .bak."""
    path = _existing(config_file or of_group)
    loaded = files.load(path)
    values = files.check(loaded)
    if values.get("processes.distributed_type") == "mps":
        values["processes.distributed_type"] = "no"  # one process; the GPU of a Mac needs no word any more
    _check_nothing_lost(path)
    backup = _keep(path)
    files.save(build(values), path)
    click.echo(f"Wrote {path}. The old file is {backup}.")


@config.command("show")
@_file_option
@click.pass_obj
def show(of_group: Path | None, config_file: Path | None) -> None:
    """Show each setting: its value, where it comes from, and what it means."""
    path = _existing(config_file or of_group)
    loaded = files.load(path)
    resolved = resolve(file=loaded, env=environment.variables)
    click.echo(f"Configuration file: {path}\n")
    rows: list[tuple[str, str, str, str]] = []
    for one in knobs():
        origin = resolved.provenance[one.name]
        if one.key:
            value = value_of(resolved.settings, one.name)
            source = "file" if origin.kind is Kind.FILE else str(origin)
            rows.append((one.key, _shown(value), source, one.help))
    ui.table(("Key", "Value", "From", "Meaning"), rows)


def write_basic_config(
    mixed_precision: str = "no", save_location: str | os.PathLike[str] | None = None
) -> Path | Literal[False]:
    """Write a file for one process on the best device of whatever machine will read it.

    It never pins the CPU: a launch finds out by itself when there is nothing better.

    Args:
        mixed_precision: "no", "fp16", "bf16" or "fp8".
        save_location: The file to write; None means the default one.

    Returns:
        The path, or False when the file exists; then it is left alone and a line says so.

    Raises:
        ConfigError: The precision is not known, or the file cannot be written.
    """
    precision = knob_named("precision.mixed_precision").parse(mixed_precision, "mixed_precision")
    path = _named(Path(save_location) if save_location else None)
    if _exists(path):
        click.echo(f"There is a configuration file already, and it is left as it is: {path}")
        return False
    files.save(build({"precision.mixed_precision": precision}), path)
    return path


def _questionnaire(path: Path) -> None:
    _check_writable(path)
    machine = probe(environment.variables)
    click.echo(_introduction(machine))
    try:
        answers = interview(machine, ask_person, _known(path))
    except KeyboardInterrupt:
        click.echo("\nStopped; nothing was written.", err=True)
        raise click.Abort from None
    backup = _keep(path) if _exists(path) else None
    files.save(build(answers), path)
    kept = f" The old file is {backup}." if backup else ""
    click.echo(f"Wrote {path}.{kept} {_what_follows(machine, cpu=bool(answers.get('device.cpu')))}")


def _introduction(machine: Machine) -> str:
    chosen = default_device(machine)
    what = f"{machine.chip or machine.arch}, {machine.memory_bytes / 2**30:.0f} GiB, {machine.os} {machine.os_version}"
    warning = f"\nThe GPU cannot be used: {chosen.unused}." if chosen.unused else ""
    return f"This machine: {what}. Best device: {chosen.kind}.{warning}"


def _what_follows(machine: Machine, cpu: bool) -> str:
    chosen = default_device(machine, cpu)
    return f"`accelerate launch script.py` will use {chosen.kind}, because {chosen.why}."


def _known(path: Path) -> Mapping[str, Value]:
    """What an existing file says, as far as it can be read: its values become the offered answers."""
    if not _exists(path):
        return {}
    try:
        return files.check(files.load(path))
    except AccelerateError as error:
        click.echo(f"The present file is ignored: {error}")
        return {}


def _named(config_file: Path | None) -> Path:
    return config_file or files.default_path(environment.variables)


def _existing(config_file: Path | None) -> Path:
    return config_file or files.find(environment.variables) or files.default_path(environment.variables)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # nobody may look; writing will say so


def _check_writable(path: Path) -> None:
    """Find out before the questions, not after them, that the file cannot be written.

    Raises:
        ConfigError: It cannot.
    """
    folder = next(parent for parent in path.absolute().parents if _exists(parent))
    if path.is_dir():
        raise ConfigError(f"{path} is a folder.", "The configuration file needs the path of a file.")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"The configuration file {path} cannot be written.",
            f"{folder} is {'not a folder' if not folder.is_dir() else 'write-protected'}.",
            "Name another place with --config_file, or set HF_HOME to a folder that can be written.",
        )


def _keep(path: Path) -> Path:
    """Copy the file to `<name>.bak`, replacing an earlier copy."""
    backup = path.with_name(f"{path.name}.bak")
    try:
        shutil.copyfile(path, backup)
    except OSError as error:
        raise ConfigError(f"{backup} cannot be written: {error.strerror}.", "Nothing was changed.") from None
    return backup


def _check_nothing_lost(path: Path) -> None:
    """Refuse to rewrite a file with options that `files.load` passes over.

    Raises:
        ConfigError: The file has such options.
    """
    import yaml

    raw = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    lost = sorted(key for key in legacy.IDLE_KEYS if raw.get(key) not in (None, {}, "", "main"))
    if lost:
        raise ConfigError(
            f"{path} has {' and '.join(lost)}, which this version does not use.",
            "Rewriting the file would lose that, so it is left as it is.",
            "Remove those lines first if you do not need them.",
        )


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
