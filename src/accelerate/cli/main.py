"""The command `accelerate`: finds the subcommand, and turns every error into one line and an exit status."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

import accelerate
from accelerate.errors import AccelerateError
from accelerate.settings.files import closest

# Subcommand -> what `accelerate --help` says. Each is an attribute of a module of the same name.
_SUBCOMMANDS = {
    "config": "Ask a few questions and write the configuration file.",
    "env": "Describe this machine and its software, for a bug report.",
    "launch": "Run a training script on the best device of this machine.",
    "test": "Check that training works on this machine.",
}
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a subcommand only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the subcommands."""
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand; None for an unknown name."""
        if cmd_name not in _SUBCOMMANDS:
            return None
        module = importlib.import_module(f"accelerate.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that `args` begins with."""
        if args[0] not in _SUBCOMMANDS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}. {_hint(args[0])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUBCOMMANDS.items()))


def _hint(word: str) -> str:
    return closest(word, _SUBCOMMANDS) or f"There are: {', '.join(_SUBCOMMANDS)}."


def _flag_hint(error: click.NoSuchOption) -> str:
    known = {name for one in error.ctx.command.params for name in one.opts} if error.ctx else set[str]()
    return closest(error.option_name, known)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(accelerate.__version__, prog_name="accelerate")
def cli() -> None:
    """Run PyTorch training scripts on the Apple GPU, a CPU or CUDA, unchanged."""


def main() -> NoReturn:
    """Entry point of `accelerate`."""
    run(sys.argv[1:])


def launch_main() -> NoReturn:
    """Entry point of `accelerate-launch`, which is `accelerate launch`."""
    run(["launch", *sys.argv[1:]])


def config_main() -> NoReturn:
    """Entry point of `accelerate-config`, which is `accelerate config`."""
    run(["config", *sys.argv[1:]])


def run(arguments: list[str]) -> NoReturn:
    """Run the command line `accelerate <arguments>` and exit with its status."""
    try:
        status = cli.main(arguments, prog_name="accelerate", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        status = error.exit_code
    except click.NoSuchOption as error:
        status = _fail(f"There is no flag {error.option_name!r}. {_flag_hint(error)}", error.exit_code)
    except click.ClickException as error:
        status = _fail(error.format_message(), error.exit_code)
    except AccelerateError as error:
        status = _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        status = _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `accelerate --help | head -1`. Python flushes at exit, and must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status or 0)


def _fail(message: str, status: int) -> int:
    click.echo(f"accelerate: error: {' '.join(message.split())}", err=True)
    return status
