"""The launcher for programs that hold its options in an argparse namespace.

They build the parser, parse a command line with it, and run the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accelerate.cli.launch import Request, prepare, warn
from accelerate.launch import environment
from accelerate.launch.child import run
from accelerate.launch.plan import Target
from accelerate.settings import legacy
from accelerate.settings.knob import Knob, spellings
from accelerate.settings.sections import knobs, value_of

if TYPE_CHECKING:
    # What argparse gives to those who add a parser to a family of subcommands has no public name.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_SWITCHES = {"module": "-m", "no_python": "", "quiet": "-q"}


class LaunchParser(argparse.ArgumentParser):
    """Stops at the script: everything after it belongs to the script, a leading `--` too."""

    def parse_known_args(  # pyrefly: ignore
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the launcher's part; `training_script_args` takes the rest as it stands."""
        if args is None:
            return super().parse_known_args(args, namespace)
        at = self._script_at(args)
        parsed, unknown = super().parse_known_args(list(args[: at + 1]), namespace)
        parsed.training_script_args = list(args[at + 1 :])
        return parsed, unknown

    def _script_at(self, args: Sequence[str]) -> int:
        """The position of the first word that is neither an option nor the value of one."""
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
            action = self._option_string_actions.get(args[at])
            at += 2 if action is not None and action.nargs is None else 1
        return at


def launch_command_parser(subparsers: SubParsers | None = None) -> argparse.ArgumentParser:
    """A parser that knows every flag of `accelerate launch`. A flag that is not given is None.

    Args:
        subparsers: Makes it the subcommand `launch` of another program.
    """
    about = "Run a training script. Everything after the script is handed to it unchanged."
    if subparsers is None:
        parser: argparse.ArgumentParser = LaunchParser("accelerate launch", description=about)
    else:
        parser = subparsers.add_parser("launch", description=about)
        parser.set_defaults(func=launch_command)
    parser.add_argument(*spellings("config_file"), help="Take the settings from this file.")
    for name, short in _SWITCHES.items():
        parser.add_argument(*spellings(name), *filter(None, [short]), action="store_true", help=_HELP[name])
    for one in knobs():
        if one.flag:
            _add(parser, (*one.flags,), one.flag, one.kind is bool, _escaped(one))
    for name, engine in legacy.ENGINE_FLAGS.items():
        _add(parser, spellings(name), name, engine.switch, argparse.SUPPRESS)
    for name, idle in legacy.IDLE_FLAGS.items():
        _add(parser, spellings(name), name, idle.switch, argparse.SUPPRESS)
    parser.add_argument("training_script", help="The script, module (-m) or program (--no_python).")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="Its own arguments.")
    return parser


_HELP = {
    "module": "The script is the name of a module.",
    "no_python": "The script is a program.",
    "quiet": "Print no warnings.",
}


def _escaped(one: Knob) -> str:
    return one.help.replace("%", "%%")


def _add(parser: argparse.ArgumentParser, names: Sequence[str], to: str, switch: bool, about: str) -> None:
    if switch:
        parser.add_argument(*names, dest=to, action="store_true", default=None, help=about)
    else:
        parser.add_argument(*names, dest=to, default=None, help=about)


def launch_command(args: argparse.Namespace) -> None:
    """Run a script as the options say, and wait for it.

    Args:
        args: What `launch_command_parser` made; missing attributes count as not given.

    Raises:
        AccelerateError: The run cannot be started as asked.
        subprocess.CalledProcessError: The script failed; `stderr` holds its last words.
    """
    request = _request(args)
    _, made, command = prepare(request)
    warn(request, made, command)
    run(command, environment.variables)


def validate_launch_command(
    args: argparse.Namespace,
) -> tuple[argparse.Namespace, Mapping[str, object] | None, bool]:
    """Fill in what the options leave open.

    Returns:
        The options with a value for every setting; the values that the configuration file gives, or None without
        a file; whether the mixed precision comes from that file.

    Raises:
        AccelerateError: The run could not be started as asked.
    """
    request = _request(args)
    resolved, _, _ = prepare(request)
    filled = argparse.Namespace(**vars(args))
    from_file: dict[str, object] = {}
    for one in knobs():
        value, origin = value_of(resolved.settings, one.name), resolved.provenance[one.name]
        if one.flag:
            setattr(filled, one.flag, value)
        if one.key and origin.kind.value == "file":
            from_file[one.key] = value
    return filled, from_file or None, "mixed_precision" in from_file


def _request(args: argparse.Namespace) -> Request:
    given = {name: value for name, value in vars(args).items() if value is not None}
    for name, engine in legacy.ENGINE_FLAGS.items():
        if given.get(name) not in (None, False):
            raise legacy.refuse(engine.engine, f"--{name}")
    how = "module" if given.get("module") else "program" if given.get("no_python") else "script"
    script = given.get("training_script")
    flags = {one.name: given[one.flag] for one in knobs() if one.flag and one.flag in given}
    return Request(
        target=None if script is None else Target(str(script), tuple(given.get("training_script_args", ())), how),
        flags=flags,
        idle={name: given[name] for name in legacy.IDLE_FLAGS if name in given},
        config_file=given.get("config_file"),
        quiet=bool(given.get("quiet")),
    )
