"""What a prepared training loop costs above the same loop in plain PyTorch, ours and the peer's.

    python benchmarks/training_overhead.py [ROUNDS]

Each process times blocks of both loops in turn, and processes of ours and of the peer take turns too, so that a slow
minute of the machine meets all of them alike. A ratio compares two neighbouring blocks. Counted is processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from measuring import (  # it lies beside this program
    environment,
    peer_version,
    say_missing_peer,
    spread,
    write_results,
)

BLOCKS = 10

Block = Callable[[], None]


class Task(NamedTuple):
    """A model with data to train on; small, so that what surrounds the model is seen."""

    model: Any
    inputs: Any
    labels: Any
    batch_size: int


def make_task(name: str) -> Task:
    import torch
    from torch import nn

    torch.manual_seed(0)
    if name == "mlp":
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        return Task(model, torch.randn(3200, 64), torch.randint(10, (3200,)), 32)
    layers = [nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return Task(model, torch.randn(640, 3, 32, 32), torch.randint(10, (640,)), 32)


def make_loop(name: str, *, prepared: bool) -> Block:
    """One epoch over the task's data, as a function."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from accelerate import Accelerator

    task = make_task(name)
    loader: Any = DataLoader(TensorDataset(task.inputs, task.labels), batch_size=task.batch_size, shuffle=True)
    model, optimizer = task.model, torch.optim.AdamW(task.model.parameters(), lr=1e-3)
    backward: Callable[[Any], Any] = torch.Tensor.backward
    if prepared:
        accelerator = Accelerator(cpu=True)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        backward = accelerator.backward

    def epoch() -> None:
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            backward(loss)
            optimizer.step()
            optimizer.zero_grad()

    return epoch


def time_blocks(name: str) -> dict[str, list[float]]:
    """Processor seconds of alternating epochs, plain and prepared, after one of each that warms up."""
    loops = {"plain": make_loop(name, prepared=False), "prepared": make_loop(name, prepared=True)}
    seconds: dict[str, list[float]] = {kind: [] for kind in loops}
    for block in range(BLOCKS + 1):
        for kind, epoch in loops.items():
            begun = time.process_time()
            epoch()
            if block:
                seconds[kind].append(time.process_time() - begun)
    return seconds


def run_child(task: str, *, peer: bool, home: str) -> dict[str, list[float]]:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", task]
    run = subprocess.run(command, capture_output=True, text=True, env=environment(peer=peer, home=home))
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(time_blocks(sys.argv[2])))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    say_missing_peer()
    owners = ["ours", "peer"] if peer_version() else ["ours"]
    ratios: dict[tuple[str, str], list[float]] = {(task, owner): [] for task in ("mlp", "convnet") for owner in owners}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(rounds):
            for task, owner in ratios:
                seconds = run_child(task, peer=owner == "peer", home=home)
                pairs = zip(seconds["prepared"], seconds["plain"], strict=True)
                ratios[task, owner] += [prepared / plain for prepared, plain in pairs]
    rows = [["task", "whose", "least", "median", "greatest", "pairs"]]
    spreads = {key: spread(values) for key, values in ratios.items()}
    for (task, owner), figure in spreads.items():
        cells = [f"{ratio:.3f}" for ratio in figure.values()]
        rows.append([task, owner, *cells, str(len(ratios[task, owner]))])
    figures = {
        "rounds": rounds,
        "prepared_over_plain": {f"{task} ({owner})": figure for (task, owner), figure in spreads.items()},
    }
    write_results("training_overhead", "A prepared loop over the same loop in plain PyTorch", figures, [rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
