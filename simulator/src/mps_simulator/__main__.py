"""`python -m mps_simulator [options] script.py [arguments]`: Python, with the simulated device."""

from __future__ import annotations

import argparse
import os
import site
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mps_simulator.activation import announce, prepare
from mps_simulator.errors import SimulatorError
from mps_simulator.settings import TEXT

_HOOK = "mps_simulator_startup.pth"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(SimulatorError.exit_code, f"mps-simulator: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m mps_simulator",
        usage="python -m mps_simulator [options] (script.py | -m module) [arguments]",
        description="Run a Python program on a simulated Apple GPU.",
        allow_abbrev=False,
    )
    parser.add_argument("--memory", metavar="SIZE", help="memory of the Mac, such as 8GB (default 16GB)")
    parser.add_argument("--macos", metavar="VERSION", help="its version of macOS, such as 14.5 (default 15.0)")
    parser.add_argument("--chip", metavar="NAME", help="its chip, such as 'Apple M2' (the default)")
    parser.add_argument("--strict", action="store_true", default=None, help="errors for what a Mac corrupts silently")
    parser.add_argument("--report", action="store_true", help="say at exit what would cost a Mac time")
    parser.add_argument("--report-json", metavar="PATH", help="the same as JSON; {pid} in the path for one a process")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str]) -> NoReturn:
    """Become the program. Options end at its name; what follows is the program's."""
    options = _parser().parse_args(argv)
    try:
        if not options.program:
            raise SimulatorError("No program was given. Use: python -m mps_simulator script.py [arguments]")
        _check_hook()
        chosen = prepare(
            memory=options.memory,
            macos=options.macos,
            chip=options.chip,
            strict=options.strict,
            report=",".join(filter(None, [options.report and TEXT, options.report_json])) or None,
        )
    except SimulatorError as error:
        print(f"mps-simulator: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    announce(chosen)
    sys.stdout.flush()
    sys.stderr.flush()
    # A new Python, not this one: so paths, arguments, tracebacks and the exit status are those of the program.
    flags = subprocess._args_from_interpreter_flags()  # pyrefly: ignore
    module = ["-m"] if options.module else []
    command = [sys.executable, *flags, *module, *options.program]
    os.execve(sys.executable, command, {**os.environ, **chosen.variables()})


def _check_hook() -> None:
    """Without the hook the new Python would not be simulated, and would not say so."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    if not any((Path(folder) / _HOOK).is_file() for folder in folders):
        raise SimulatorError("The start-up hook is not installed; run: pip install ./simulator")


if __name__ == "__main__":
    main(sys.argv[1:])
