"""`accelerate test`: launches a short training that checks itself."""

from __future__ import annotations

from pathlib import Path

import click

from accelerate.cli.launch import Request, prepare, warn
from accelerate.launch import command as commands
from accelerate.launch import environment
from accelerate.launch.plan import Target

CHECKS = "accelerate.cli.selfcheck"


@click.command()
@click.option("--config_file", "--config-file", type=Path, metavar="FILE", help="Take the settings from this file.")
def test(config_file: Path | None) -> None:
    """Check that training works on this machine.

    Launches a short training with your settings, compares it with plain PyTorch on the same device, and restores a
    saved state. The exit status is 0 when all is well.
    """
    request = Request(target=Target(CHECKS, how="module"), config_file=str(config_file) if config_file else None)
    _, made, command = prepare(request)
    warn(request, made, command)
    commands.become(command, environment.variables)
