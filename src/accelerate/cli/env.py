"""`accelerate env`: what this computer and its software are, for a bug report. Works without torch."""

from __future__ import annotations

import json
from pathlib import Path

import click

import accelerate
from accelerate.errors import AccelerateError
from accelerate.launch import environment
from accelerate.machine import report as reports
from accelerate.machine.probe import probe
from accelerate.settings import files


@click.command()
@click.option("--config_file", "--config-file", type=Path, help="Report this configuration file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def env(config_file: Path | None, as_json: bool) -> None:
    """Describe this machine and its software, for a bug report.

    Names of folders in your home folder are shown with ~, and no tokens are shown.
    """
    made = make_report(config_file)
    home = environment.get("HOME")
    if as_json:
        click.echo(json.dumps(reports.as_json(made, home), indent=2))
    else:
        click.echo("Copy the lines below into the bug report.\n")
        click.echo(reports.as_text(made, home))


def make_report(config_file: Path | None) -> reports.Report:
    """Collect the facts.

    Args:
        config_file: The configuration file to report; None means the default one.
    """
    machine = probe(environment.variables)
    return reports.Report(
        version=accelerate.__version__,
        location=str(Path(__file__).parents[1]),
        machine=machine,
        gpu_cores=reports.apple_gpu_cores() if machine.apple_silicon else None,
        packages=reports.installed_packages(),
        variables=reports.relevant_variables(environment.variables),
        config=read_config(config_file),
    )


def read_config(config_file: Path | None) -> reports.ConfigState:
    """What the configuration file says, or what is wrong with it. A default file need not exist."""
    path = config_file or files.find(environment.variables)
    if path is None:
        return reports.ConfigState(path=str(files.default_path(environment.variables)))
    try:
        loaded = files.load(path)
        files.check(loaded)
    except AccelerateError as error:
        return reports.ConfigState(path=str(path), problem=str(error))
    return reports.ConfigState(
        path=str(path), content={one.key: loaded.values[one.name] for one in files.knobs() if one.name in loaded.values}
    )
