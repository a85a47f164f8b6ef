"""The report at exit: what would have cost a Mac time, or stopped it. README.md describes it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mps_simulator.settings import TEXT

MOST_LINES = 5
_PROCESS = "{pid}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What happened on the device in one process.

    Args:
        operators: Operators that ran on it, copies included.
        steps: Steps of optimizers.
        peak_memory_bytes: The most of its memory that was in use at once.
        waits: How often the host waited for it, by what made it wait.
        waits_between_steps: How many of these came after the first step and before the end of the last.
        lines: The lines of the program that waited most, as (file:line, times).
        fallbacks: How often each operator without a kernel ran on the CPU.
        float64_refusals: How often float64 was refused.
        out_of_memory_refusals: How often memory was refused.
        hazards: How often `--strict` raised; None when it was off.
    """

    operators: int
    steps: int
    peak_memory_bytes: int
    waits: Mapping[str, int]
    waits_between_steps: int
    lines: tuple[tuple[str, int], ...]
    fallbacks: Mapping[str, int]
    float64_refusals: int
    out_of_memory_refusals: int
    hazards: int | None

    @property
    def waits_per_step(self) -> float | None:
        """The mean number of waits from one step to the next; None with fewer than two steps."""
        return round(self.waits_between_steps / (self.steps - 1), 2) if self.steps > 1 else None

    def as_json(self) -> str:
        """JSON, with keys that stay."""
        content = {
            "operators": self.operators,
            "steps": self.steps,
            "peak_memory_bytes": self.peak_memory_bytes,
            "synchronisations": {
                "total": sum(self.waits.values()),
                "per_step": self.waits_per_step,
                "kinds": dict(self.waits),
                "lines": [{"line": line, "count": count} for line, count in self.lines],
            },
            "fallbacks": dict(self.fallbacks),
            "float64_refusals": self.float64_refusals,
            "out_of_memory_refusals": self.out_of_memory_refusals,
            "hazards": self.hazards,
        }
        return json.dumps(content, indent=2) + "\n"

    def as_text(self) -> str:
        """Lines for people."""
        waits = f"{sum(self.waits.values())}"
        if self.waits_per_step is not None:
            waits += f", {self.waits_per_step:g} a step"
        rows = [
            ("operators", f"{self.operators}"),
            ("optimizer steps", f"{self.steps}"),
            ("peak memory", _size(self.peak_memory_bytes)),
            ("host synchronisations", waits),
            *(("  by " + how, f"{count}") for how, count in self.waits.items()),
            *(("  at " + line, f"{count}") for line, count in self.lines),
            ("fallbacks to the CPU", f"{sum(self.fallbacks.values())}"),
            *(("  " + name, f"{count}") for name, count in self.fallbacks.items()),
            ("float64 refusals", f"{self.float64_refusals}"),
            ("out-of-memory refusals", f"{self.out_of_memory_refusals}"),
            ("strict hazards", "not looked for" if self.hazards is None else f"{self.hazards}"),
        ]
        width = max(len(name) for name, _ in rows)
        return "mps-simulator: report\n" + "".join(f"  {name:<{width}}  {value}\n" for name, value in rows)


def targets(settings: str, for_all: bool) -> tuple[str, ...]:
    """Where this process reports to: `TEXT` for stderr, else paths.

    Args:
        settings: The targets of all processes, with commas between them.
        for_all: Whether this process is the one that reports; the others write only to paths of their own.
    """
    wanted = settings.split(",") if settings else []
    mine = str(os.getpid())
    return tuple(target.replace(_PROCESS, mine) for target in wanted if for_all or _PROCESS in target)


def write(report: Report, targets: tuple[str, ...], since: float) -> None:
    """Write to each target.

    A process that did not use the device leaves a file alone that another has written `since` then (Unix time).
    """
    for target in targets:
        if target == TEXT:
            print(report.as_text(), end="", file=sys.stderr)
            continue
        path = Path(target)
        try:
            if report.operators or not path.exists() or path.stat().st_mtime < since:
                path.write_text(report.as_json())
        except OSError as error:
            print(f"mps-simulator: the report cannot be written to {path}: {error.strerror}.", file=sys.stderr)


def _size(count: int) -> str:
    amount, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.4g} {unit}"
