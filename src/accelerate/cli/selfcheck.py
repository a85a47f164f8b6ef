"""The script of `accelerate test`: trains a small model, compares with plain PyTorch, saves and restores."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import accelerate
from accelerate import Accelerator

SEED = 7
BATCH = 8


def make_parts() -> tuple[nn.Module, torch.optim.Optimizer, DataLoader[tuple[torch.Tensor, ...]]]:
    """A small model, its optimizer and data that it can learn; the same numbers on every call."""
    random = torch.Generator().manual_seed(SEED)
    inputs = torch.randn(6 * BATCH, 4, generator=random)
    targets = inputs @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]])
    torch.manual_seed(SEED)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.05), DataLoader(TensorDataset(inputs, targets), BATCH)


def train_plainly(device: torch.device, epochs: int) -> list[float]:
    """Train without this package; gives the loss of every step."""
    model, optimizer, loader = make_parts()
    model.to(device)
    losses: list[float] = []
    for _ in range(epochs):
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def train(
    accelerator: Accelerator,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loader: Iterable[list[torch.Tensor]],
    epochs: int,
) -> list[float]:
    """Train with this package; gives the loss of every step."""
    losses: list[float] = []
    for _ in range(epochs):
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def alike(one: list[float], other: list[float]) -> bool:
    """Whether two runs had the same losses, up to rounding."""
    return len(one) == len(other) and torch.allclose(torch.tensor(one), torch.tensor(other), rtol=1e-4, atol=1e-6)


def checks(accelerator: Accelerator) -> Iterator[tuple[str, bool]]:
    """What is checked, and whether it held."""
    model, optimizer, loader = accelerator.prepare(*make_parts())
    losses = train(accelerator, model, optimizer, loader, epochs=3)
    yield "the loss falls", losses[-1] < losses[0] / 2
    if accelerator.mixed_precision == "no":
        yield "every loss is that of plain PyTorch", alike(losses, train_plainly(accelerator.device, epochs=3))
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        onwards = train(accelerator, model, optimizer, loader, epochs=1)
        accelerator.load_state(folder)
        again = train(accelerator, model, optimizer, loader, epochs=1)
    yield "training goes on from a saved state as if it had not stopped", alike(onwards, again)


def main() -> int:
    """Run the checks and print one line for each. Returns the exit status."""
    accelerator = Accelerator()
    print(f"accelerate {accelerate.__version__}, torch {torch.__version__}")
    print(f"Device: {accelerator.device}, mixed precision: {accelerator.mixed_precision}")
    failed = 0
    for what, held in checks(accelerator):
        print(f"{'ok  ' if held else 'FAIL'} {what}")
        failed += not held
    print("FAILED: see above." if failed else "OK: training works on this machine.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
