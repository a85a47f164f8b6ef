"""The command line and environment that a plan ends in, and how this process becomes it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from accelerate.errors import ConfigError
from accelerate.launch.plan import LaunchPlan, Target
from accelerate.machine.probe import find_package
from accelerate.settings.sections import knobs

SIMULATOR = "mps_simulator"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the variables to add to the environment it runs in.

    Args:
        argv: The program and its arguments.
        env: Variables to set.
        warnings: One line for each variable of the user that is overridden or kept.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def line(self) -> str:
        """The command as one line for a POSIX shell."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        return " ".join([*words, shlex.join(self.argv)])


def build(plan: LaunchPlan, env: Mapping[str, str], python: str = sys.executable) -> Command:
    """The command for a plan, started by someone whose environment is `env`."""
    target = plan.target
    with_python = (python, "-m", SIMULATOR) if plan.simulated else (python,)
    start = {"script": (*with_python, target.name), "module": (*with_python, "-m", target.name)}
    start["program"] = (target.name,)
    added = dict(plan.variables)
    warnings = [
        f"{name}={env[name]} in the environment is overridden: this run sets it to {value}."
        for name, value in added.items()
        if env.get(name) and not _same(name, env[name], value)
    ]
    for name, value in plan.gentle_variables.items():
        if name not in env:
            added[name] = value
        elif env[name] != value:
            warnings.append(f"{name}={env[name]} in the environment is kept: it goes before the launcher's.")
    return Command((*start[target.how], *target.args), added, tuple(warnings))


def _same(name: str, before: str, after: str) -> bool:
    """Whether two texts of a variable mean the same."""
    one = next((one for one in knobs() if one.env == name), None)
    if one is None:
        return before == after
    try:
        return one.parse(before, name) == one.parse(after, name)
    except ConfigError:
        return False


def check_simulator() -> None:
    """Make sure that a device can be simulated.

    Raises:
        ConfigError: The package that does it is not installed.
    """
    if find_package(SIMULATOR) is None:
        raise ConfigError("Simulating mps needs the package mps-simulator.", fix="Run: pip install ./simulator")


def check(target: Target) -> None:
    """Make sure that there is something to run.

    A module is not looked for: Python itself says in one line when there is none.

    Raises:
        ConfigError: The script or program does not exist or cannot be run.
    """
    path = Path(target.name)
    if target.how == "program":
        if shutil.which(target.name) is None:
            raise ConfigError(f"There is no program {target.name!r} that can be run.")
    elif target.how == "script" and target.name != "-":
        if not path.exists():
            place = "" if path.is_absolute() else " in the current folder"
            raise ConfigError(f"There is no script {target.name!r}{place}.")
        if path.is_dir() and not (path / "__main__.py").is_file():
            raise ConfigError(f"{target.name!r} is a folder, not a script.", "It has no __main__.py.")


def become(command: Command, env: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command, so that whoever waits for or signals it deals with the script.

    Raises:
        ConfigError: The program cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command.argv[0], command.argv, {**env, **command.env})
    except OSError as error:
        raise ConfigError(f"{command.argv[0]!r} cannot be run: {error.strerror}.") from None
