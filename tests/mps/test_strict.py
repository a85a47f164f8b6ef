"""What corrupts silently on a Mac: the Accelerator does none of it, as the simulator's `--strict` shows."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mps_simulator") is None or sys.platform == "darwin",
    reason="needs the simulated Apple GPU: pip install ./simulator, on Linux",
)

WITH_ACCELERATOR = """
import torch
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(non_blocking=True))
assert accelerator.device.type == "mps"
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
loader = DataLoader(TensorDataset(torch.randn(32, 8)), batch_size=4, pin_memory=True)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
for (inputs,) in loader:
    loss = model(inputs).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
print("trained", accelerator.gather(loss.detach()).shape)
"""
PLAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)).to("mps")
for (inputs,) in DataLoader(TensorDataset(torch.randn(32, 8)), batch_size=4):
    model(inputs.to("mps", non_blocking=True)).square().mean().backward()
print("trained")
"""


def _run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MPS_SIMULATOR")}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env={**kept, **more}, timeout=110
    )


@pytest.fixture
def with_accelerator(tmp_path: Path) -> str:
    """A program that asks the Accelerator for overlapping copies."""
    script = tmp_path / "train.py"
    script.write_text(WITH_ACCELERATOR, encoding="utf-8")
    return str(script)


def test_the_accelerator_makes_no_copy_that_a_mac_corrupts(with_accelerator: str) -> None:
    done = _run("-m", "mps_simulator", "--strict", with_accelerator)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("trained")


def test_the_launcher_passes_the_wish_on(with_accelerator: str, tmp_path: Path) -> None:
    wish = {"MPS_SIMULATOR_STRICT": "1", "MPS_SIMULATOR_REPORT": str(tmp_path / "report.json")}
    done = _run("-m", "accelerate.commands.launch", "--simulate", "mps", with_accelerator, **wish)
    assert done.returncode == 0, done.stderr
    assert '"hazards": 0' in (tmp_path / "report.json").read_text()


def test_the_same_loop_without_the_accelerator_is_caught(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(PLAIN, encoding="utf-8")
    done = _run("-m", "mps_simulator", "--strict", str(script))
    assert done.returncode == 1
    assert "RuntimeError: mps-simulator --strict: " in done.stderr
    assert "plain.py:7" in done.stderr
