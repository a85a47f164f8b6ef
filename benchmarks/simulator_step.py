"""What a training step of ResNet-18 costs on the simulated Apple GPU, over the same step on the CPU.

    python benchmarks/simulator_step.py [ROUNDS]

One process times both in turn, so that a slow minute of the machine meets both alike; a ratio compares two neighbours.
Counted is processor time. The bar is 1.3 for the median.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import environment, spread, write_results  # it lies beside this program

STEPS = 10
SIZES = (64, 224)
BATCH = 4
BAR = 1.3

Step = Callable[[], None]


def make_step(device: str, size: int) -> Step:
    """One step of training on a batch of random images, as a function."""
    import torch
    from torchvision.models import resnet18

    torch.manual_seed(0)
    model = resnet18(num_classes=10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(BATCH, 3, size, size, device=device), torch.arange(BATCH, device=device)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    return step


def time_steps(size: int) -> list[float]:
    """Ratios of alternating steps, after two of each that warm up."""
    steps = {device: make_step(device, size) for device in ("cpu", "mps")}
    ratios = []
    for turn in range(STEPS + 2):
        seconds = {}
        for device, step in steps.items():
            begun = time.process_time()
            step()
            seconds[device] = time.process_time() - begun
        if turn > 1:
            ratios.append(seconds["mps"] / seconds["cpu"])
    return ratios


def run_child(size: int) -> list[float]:
    command = [sys.executable, "-m", "mps_simulator", str(Path(__file__).resolve()), "--child", str(size)]
    with tempfile.TemporaryDirectory() as home:
        run = subprocess.run(command, capture_output=True, text=True, env=environment(peer=False, home=home))
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(time_steps(int(sys.argv[2]))))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    ratios = {size: [ratio for _ in range(rounds) for ratio in run_child(size)] for size in SIZES}
    rows = [["images", "least", "median", "greatest", "pairs"]]
    spreads = {size: spread(values) for size, values in ratios.items()}
    for size, figure in spreads.items():
        cells = [f"{ratio:.3f}" for ratio in figure.values()]
        rows.append([f"{BATCH} of {size} x {size}", *cells, str(len(ratios[size]))])
    figures = {"rounds": rounds, "mps_over_cpu": {f"{size} x {size}": figure for size, figure in spreads.items()}}
    write_results("simulator_step", "A ResNet-18 training step on the simulated mps over the CPU's", figures, [rows])
    return int(any(figure["median"] > BAR for figure in spreads.values()))


if __name__ == "__main__":
    sys.exit(main())
