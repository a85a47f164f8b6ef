"""What the benchmarks share: the facts about the machine, the peer's place, and the result files."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "benchmarks" / "results"
PEER = PROJECT / ".peer"


def environment(*, peer: bool, home: str) -> dict[str, str]:
    """Variables for a child that imports this project's package, or the peer's.

    Args:
        peer: Whose package.
        home: A folder for configuration and caches, so that those of the person who measures do not count.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACCELERATE_", "PYTHON"))}
    # One thread: with more, the waiting of idle ones is counted as work.
    return kept | {
        "PYTHONPATH": str(PEER if peer else PROJECT / "src"),
        "HF_HOME": home,
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Least, median and greatest of some measurements."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return {"min": round(low, 4), "median": round(middle, 4), "max": round(high, 4)}


def machine_facts() -> dict[str, Any]:
    """What a figure needs beside it to mean something."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "torch": importlib.metadata.version("torch"),
        "accelerate": importlib.metadata.version("accelerate"),
        "peer": peer_version(),
    }


def processor() -> str:
    """The processor's name, as Linux tells it; elsewhere what Python knows."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def peer_version() -> str | None:
    """The version of the peer in .peer, or None where it is not installed."""
    found = sorted(PEER.glob("accelerate-*.dist-info"))
    return found[0].name.removeprefix("accelerate-").removesuffix(".dist-info") if found else None


def write_results(name: str, title: str, figures: dict[str, Any], tables: Sequence[Sequence[Sequence[str]]]) -> None:
    """Write `results/<name>.json` with all figures, and `results/<name>.md` with tables for people.

    Args:
        name: Of the files, without ending.
        title: Heading of the page.
        figures: All that was measured.
        tables: Each one rows of cells, the header first.
    """
    RESULTS.mkdir(exist_ok=True)
    facts = machine_facts()
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": facts, **figures}, indent=2) + "\n")
    lines = [f"# {title}", "", *(f"- {key}: {value}" for key, value in facts.items())]
    for header, *rows in tables:
        lines += ["", row_of(header), row_of(["---"] * len(header)), *map(row_of, rows)]
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def row_of(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def say_missing_peer() -> None:
    if peer_version() is None:
        print("The peer is not in .peer (make peer): measuring without it.", file=sys.stderr)
