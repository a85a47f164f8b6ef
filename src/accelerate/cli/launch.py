"""`accelerate launch`: from the command line to a plan, and from the plan to the script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from accelerate.errors import ConfigError
from accelerate.launch import command as commands
from accelerate.launch import environment
from accelerate.launch.explain import explain as table
from accelerate.launch.plan import LaunchPlan, Target, plan
from accelerate.machine.probe import probe
from accelerate.settings import files, legacy
from accelerate.settings.knob import Knob, spellings
from accelerate.settings.resolve import Resolved, resolve
from accelerate.settings.sections import GENERAL, GROUPS, knobs


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One command line of `accelerate launch`, taken apart but not checked.

    Args:
        target: What to run; None when nothing was named.
        flags: Knob name -> text, for flags that were given.
        idle: Name -> text of flags that were given and have no task on one device.
        config_file: The configuration file that was named.
        quiet: Print no warnings.
    """

    target: Target | None
    flags: Mapping[str, object] = field(default_factory=dict)
    idle: Mapping[str, object] = field(default_factory=dict)
    config_file: str | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class _Own:
    """An option of the command itself, which is no setting of the run."""

    flag: str
    help: str
    short: str = ""
    switch: bool = True


_OWN = (
    _Own("config_file", "Take the settings from this file.", switch=False),
    _Own("module", "The script is the name of a module, as in `python -m`.", "-m"),
    _Own("no_python", "The script is a program; do not start it with Python."),
    _Own("quiet", "Print no warnings.", "-q"),
    _Own("dry_run", "Print the command that would run, for a shell, and stop."),
    _Own("explain", "Print each setting, its value, where it came from and why, and stop."),
)


def prepare(request: Request) -> tuple[Resolved, LaunchPlan, commands.Command]:
    """Settle everything about a launch, without starting anything.

    Raises:
        AccelerateError: Something in it cannot be done.
    """
    if request.target is None:
        raise ConfigError("No script was given.", fix="Use: accelerate launch [options] script.py [arguments]")
    env = environment.variables
    path = Path(request.config_file) if request.config_file else files.find(env)
    resolved = resolve(flags=request.flags, file=files.load(path) if path else None, env=env)
    made = plan(resolved.settings, resolved.provenance, probe(env), request.target)
    commands.check(request.target)
    if made.simulated:
        commands.check_simulator()
    return resolved, made, commands.build(made, env)


def warn(request: Request, made: LaunchPlan, command: commands.Command) -> None:
    """Print the warnings of a launch, one line each, unless it is to be quiet."""
    if not request.quiet:
        for line in (*legacy.idle_warnings(request.idle), *made.warnings, *command.warnings):
            click.echo(f"accelerate: warning: {line}", err=True)


class _LaunchCommand(click.Command):
    """Help with the options under the headings of their groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                rows[_group_of(parameter.name or "")].append((_one_spelling(record[0]), record[1]))
        for group, records in rows.items():
            with formatter.section(group):
                formatter.write_dl(records)


def _group_of(name: str) -> str:
    return next((one.group for one in knobs() if one.name.replace(".", "__") == name), GENERAL)


def _one_spelling(names: str) -> str:
    """Leave out the spellings with dashes: the text above the options says that they exist."""
    *others, last = names.split(", ")
    word, _, metavar = last.partition(" ")
    spelled = [*others, word]
    dashed = {name.replace("_", "-") for name in spelled if "_" in name}
    return " ".join(filter(None, [", ".join(name for name in spelled if name not in dashed), metavar]))


def _refuse(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    """Stop at the flag of an engine that is not driven here."""
    if value:
        raise legacy.refuse(legacy.ENGINE_FLAGS[parameter.name or ""].engine, parameter.opts[0])


def _options() -> Iterator[click.Option]:
    for one in knobs():
        if one.flag:
            yield click.Option(
                [*one.flags, one.name.replace(".", "__")],
                is_flag=one.kind is bool,
                default=None,
                help=one.help,
                metavar=None if one.kind is bool else _metavar(one),
            )
    for own in _OWN:
        names = [*spellings(own.flag), *filter(None, [own.short]), own.flag]
        yield click.Option(names, is_flag=own.switch, help=own.help, metavar=None if own.switch else "FILE")
    for name, engine in legacy.ENGINE_FLAGS.items():
        yield click.Option(
            [*spellings(name), name], is_flag=engine.switch, hidden=True, expose_value=False, callback=_refuse
        )
    for name, idle in legacy.IDLE_FLAGS.items():
        yield click.Option([*spellings(name), name], is_flag=idle.switch, default=None, hidden=True)


def _metavar(one: Knob) -> str:
    if one.choices:
        return f"[{'|'.join(one.choices)}]"
    return {int: "NUMBER", float: "NUMBER"}.get(one.kind, "TEXT")


def _launch(training_script: str | None, training_script_args: tuple[str, ...], **options: object) -> None:
    request = _request(options, training_script, training_script_args)
    _, made, command = prepare(request)
    if options["explain"]:
        click.echo(table(made))
    if options["dry_run"]:
        click.echo(command.line())
    if not options["explain"]:  # which shows the warnings itself
        warn(request, made, command)
    if options["explain"] or options["dry_run"]:
        return
    commands.become(command, environment.variables)


def _request(options: Mapping[str, object], script: str | None, args: Sequence[str]) -> Request:
    by_parameter = {one.name.replace(".", "__"): one.name for one in knobs()}
    how = "module" if options["module"] else "program" if options["no_python"] else "script"
    if options["module"] and options["no_python"]:
        raise ConfigError("--module and --no_python exclude each other.", fix="Use one of them.")
    file = options["config_file"]
    return Request(
        target=None if script is None else Target(script, tuple(args), how),
        flags={name: options[key] for key, name in by_parameter.items() if options.get(key) is not None},
        idle={name: options[name] for name in legacy.IDLE_FLAGS if options.get(name) is not None},
        config_file=None if file is None else str(file),
        quiet=bool(options["quiet"]),
    )


launch = _LaunchCommand(
    "launch",
    callback=_launch,
    params=[
        *_options(),
        click.Argument(["training_script"], required=False, metavar="SCRIPT"),
        click.Argument(["training_script_args"], nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]..."),
    ],
    # Everything after the script is the script's, so options end there.
    context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]},
    options_metavar="[OPTIONS]",
    help="""Run a training script.

    Everything after SCRIPT is handed to it unchanged. Options may be written with dashes or underscores. What no
    option sets is taken from the configuration file (see `accelerate config`), then from the environment.""",
)
