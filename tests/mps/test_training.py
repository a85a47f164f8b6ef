"""Training on an Apple GPU: a real one, or the simulated one (`python -m mps_simulator -m pytest tests/mps`)."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from accelerate import Accelerator, log
from accelerate.plugins.data import DataLoaderConfiguration
from accelerate.plugins.handlers import GradScalerKwargs
from accelerate.seeds import set_seed
from accelerate.state import AcceleratorState, PartialState

pytestmark = pytest.mark.skipif(
    not torch.backends.mps.is_available(), reason="no Apple GPU, real or simulated, in this process"
)


def _train(
    accelerator: Accelerator, *, dropout: float = 0.0, dtype: torch.dtype = torch.float32, **options: Any
) -> Any:
    """Train a small net for eight batches; returns the losses, the prepared model and the prepared optimizer."""
    set_seed(5)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.Dropout(dropout),
        torch.nn.GELU(),
        torch.nn.Linear(16, 1),
    ).to(dtype)
    data = TensorDataset(torch.randn(32, 8, dtype=dtype), torch.randn(32, 1, dtype=dtype))
    loader: Any = DataLoader(data, batch_size=4, shuffle=True, **options)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-2), loader)
    losses = []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses, model, optimizer


def test_the_apple_gpu_is_the_default_and_parts_move_there() -> None:
    accelerator = Accelerator()
    assert accelerator.device == torch.device("mps")
    _, model, optimizer = _train(accelerator)
    assert all(parameter.device.type == "mps" for parameter in model.parameters())
    assert all(state["exp_avg"].device.type == "mps" for state in optimizer.state.values())


def test_losses_are_near_those_of_the_cpu() -> None:
    on_gpu, _, _ = _train(Accelerator())
    AcceleratorState._reset_state(reset_partial_state=True)
    on_cpu, _, _ = _train(Accelerator(cpu=True))
    assert on_gpu == pytest.approx(on_cpu, rel=1e-4)


@pytest.mark.parametrize("ask", ["accelerator", "state", "variable"])
def test_the_cpu_can_be_asked_for(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ask == "variable":
        monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    if ask == "state":
        PartialState(cpu=True)
    accelerator = Accelerator(cpu=ask == "accelerator")
    assert accelerator.device == torch.device("cpu")
    assert accelerator.prepare(torch.nn.Linear(1, 1)).weight.device == torch.device("cpu")


def test_float64_becomes_float32_on_the_way() -> None:
    log.warn_once.cache_clear()
    losses, model, _ = _train(Accelerator(), dtype=torch.float64)
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert model[1].running_mean.dtype == torch.float32
    assert model[1].num_batches_tracked.dtype == torch.int64
    assert len(losses) == 8


def test_pinned_memory_and_overlapping_copies_are_left_out_without_a_word() -> None:
    plain, _, _ = _train(Accelerator())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = DataLoaderConfiguration(non_blocking=True)
        asked, _, _ = _train(Accelerator(dataloader_config=config), pin_memory=True)
    assert asked == plain


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("steps", [1, 3])
def test_mixed_precision_trains(precision: str, steps: int) -> None:
    accelerator = Accelerator(
        mixed_precision=precision,
        gradient_accumulation_steps=steps,
        kwargs_handlers=[GradScalerKwargs(init_scale=256.0)],
    )
    losses, model, _ = _train(accelerator)
    assert (accelerator.scaler is not None) is (precision == "fp16")
    assert not accelerator.optimizer_step_was_skipped
    AcceleratorState._reset_state(reset_partial_state=True)
    full, _, _ = _train(Accelerator(gradient_accumulation_steps=steps))
    assert losses == pytest.approx(full, rel=0.1, abs=0.05)
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


def test_infinite_gradients_skip_a_step() -> None:
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(m := torch.nn.Linear(1, 1), torch.optim.SGD(m.parameters(), lr=1.0))
    before = model.weight.detach().clone()
    accelerator.backward((model(torch.ones(1, 1, device="mps")) * 1e38).sum())
    optimizer.step()
    assert accelerator.optimizer_step_was_skipped
    assert torch.equal(model.weight, before)


def test_a_checkpoint_brings_the_generator_of_the_gpu_back(tmp_path: Path) -> None:
    accelerator = Accelerator()
    dropout = accelerator.prepare(torch.nn.Dropout(0.5))
    accelerator.save_state(tmp_path / "state")
    first = dropout(torch.ones(64, device="mps"))
    second = dropout(torch.ones(64, device="mps"))
    assert not torch.equal(first, second)
    accelerator.load_state(tmp_path / "state")
    assert torch.equal(dropout(torch.ones(64, device="mps")), first)


def test_a_checkpoint_of_the_gpu_loads_on_the_cpu(tmp_path: Path) -> None:
    accelerator = Accelerator()
    _, model, _ = _train(accelerator)
    accelerator.save_state(tmp_path / "state")
    AcceleratorState._reset_state(reset_partial_state=True)
    on_cpu = Accelerator(cpu=True)
    _, there, _ = _train(on_cpu)
    on_cpu.load_state(tmp_path / "state")
    for name, value in model.state_dict().items():
        assert torch.equal(there.state_dict()[name], value.cpu()), name


MISSING_OPERATOR = """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
print(torch.linalg.eigvals(torch.eye(2, device=accelerator.device)).abs().sum().item())
"""


def _launch(tmp_path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "missing.py"
    script.write_text(MISSING_OPERATOR, encoding="utf-8")
    simulate = () if sys.platform == "darwin" else ("--simulate", "mps")
    return subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *simulate, *flags, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTORCH_ENABLE_MPS_FALLBACK"},
    )


def test_a_missing_operator_is_followed_by_the_flag_that_helps(tmp_path: Path) -> None:
    done = _launch(tmp_path)
    assert done.returncode == 1
    assert "NotImplementedError" in done.stderr
    assert "--mps_fallback" in done.stderr.strip().splitlines()[-1]


def test_the_flag_lets_the_cpu_run_missing_operators(tmp_path: Path) -> None:
    done = _launch(tmp_path, "--mps_fallback")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2.0"
