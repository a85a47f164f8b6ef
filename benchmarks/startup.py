"""How much processor time it takes until something happens: the command line, and the import.

    python benchmarks/startup.py [ROUNDS]

Each round runs each command once, so that a slow minute of the machine meets all of them alike. Counted is the
processor time of the command and all that it starts, not the time on the clock. An import is measured within a
process that has torch already, since the time of `import torch` varies by more than ours takes. Exits with 1 when a
bar is missed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from measuring import (  # it lies beside this program
    environment,
    peer_version,
    say_missing_peer,
    spread,
    write_results,
)

PYTHON = "python, nothing else"
# Seconds, for commands above those of bare Python.
BARS = {"accelerate --help": 0.25, "accelerate launch, empty script": 0.25, "import accelerate, after torch": 0.1}
TIMED_IMPORT = "import time, torch; begun = time.process_time(); {}; print(time.process_time() - begun)"

# Name and owner of a case.
Key = tuple[str, str]


class Case(NamedTuple):
    """A command to measure: its name in the tables, whose package it imports, and what to run.

    `prints` says that the command prints the seconds itself.
    """

    name: str
    owner: str
    command: list[str]
    prints: bool = False


def cases(folder: str) -> list[Case]:
    """What is measured, given a folder with `empty.py` and `config.yaml`."""
    python = [sys.executable, "-c"]
    ours = [str(Path(sys.executable).with_name("accelerate"))]
    theirs = [sys.executable, "-m", "accelerate.commands.accelerate_cli"]
    listed = [
        Case(PYTHON, "python", [*python, "pass"]),
        Case("import torch", "python", [*python, "import torch"]),
        Case("accelerate config show", "ours", [*ours, "config", "show", "--config_file", f"{folder}/config.yaml"]),
    ]
    imports = {
        "import accelerate, after torch": TIMED_IMPORT.format("import accelerate"),
        "from accelerate import Accelerator, after torch": TIMED_IMPORT.format("from accelerate import Accelerator"),
    }
    for owner, command in (("ours", ours), ("peer", theirs)):
        listed += [
            Case("accelerate --help", owner, [*command, "--help"]),
            Case("accelerate launch, empty script", owner, [*command, "launch", f"{folder}/empty.py"]),
            Case("accelerate env", owner, [*command, "env"]),
            *(Case(name, owner, [*python, code], prints=True) for name, code in imports.items()),
        ]
    return [case for case in listed if case.owner != "peer" or peer_version()]


def processor_seconds(case: Case, variables: dict[str, str]) -> float:
    """Run a command to its end and return the processor time of it and of the processes it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(case.command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(case.command)} ended with {run.returncode}: {run.stderr}")
    if case.prints:
        return float(run.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[Key, dict[str, float]]:
    """Spread of the processor seconds of each command."""
    seconds: dict[Key, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty.py").write_text("")
        (Path(folder) / "config.yaml").write_text("mixed_precision: 'no'\n")
        # One round more, uncounted: it fills the caches of the disk and of compiled Python.
        for counted in range(rounds + 1):
            for case in cases(folder):
                variables = environment(peer=case.owner == "peer", home=folder)
                taken = processor_seconds(case, variables)
                if counted:
                    seconds[case.name, case.owner].append(taken)
    return {key: spread(values) for key, values in seconds.items()}


def above_floor(name: str, owner: str, spreads: dict[Key, dict[str, float]]) -> float:
    """Least seconds of a command above the least of bare Python; an import is measured without that."""
    floor = 0.0 if name.endswith("after torch") else spreads[PYTHON, "python"]["min"]
    return spreads[name, owner]["min"] - floor


def command_rows(spreads: dict[Key, dict[str, float]]) -> list[list[str]]:
    rows = [["command", "whose", "least", "median", "greatest", "least above bare Python"]]
    for (name, owner), figure in spreads.items():
        above = above_floor(name, owner, spreads)
        rows.append([name, owner, *(f"{seconds:.3f} s" for seconds in figure.values()), f"{above:.3f} s"])
    return rows


def ratio_rows(spreads: dict[Key, dict[str, float]]) -> list[list[str]]:
    rows = [["command", "peer / ours, by median"]]
    for name, owner in spreads:
        if owner == "peer":
            rows.append([name, f"{spreads[name, 'peer']['median'] / spreads[name, 'ours']['median']:.1f}"])
    return rows


def bar_rows(spreads: dict[Key, dict[str, float]]) -> list[list[str]]:
    rows = [["bar: least above bare Python", "allowed", "measured", "kept"]]
    for name, allowed in BARS.items():
        above = above_floor(name, "ours", spreads)
        rows.append([name, f"{allowed} s", f"{above:.3f} s", "yes" if above < allowed else "NO"])
    return rows


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    say_missing_peer()
    spreads = measure(rounds)
    bars = bar_rows(spreads)
    figures = {
        "rounds": rounds,
        "processor_seconds": {f"{name} ({owner})": figure for (name, owner), figure in spreads.items()},
        "bars": {row[0]: dict(zip(("allowed", "measured", "kept"), row[1:], strict=True)) for row in bars[1:]},
    }
    tables = [bars, command_rows(spreads), ratio_rows(spreads)]
    write_results("startup", "Processor time until something happens", figures, tables)
    return 1 if any(row[-1] == "NO" for row in bars) else 0


if __name__ == "__main__":
    sys.exit(main())
