"""What only a CUDA device can show. Skipped, with the reason, where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from accelerate import Accelerator
from accelerate.plugins.data import DataLoaderConfiguration
from accelerate.plugins.handlers import GradScalerKwargs
from accelerate.seeds import set_seed
from accelerate.state import PartialState

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


def _train(accelerator: Accelerator, dropout: float = 0.2, **loader_options: Any) -> tuple[list[float], Any]:
    """Train a small net; returns the losses and the prepared model."""
    set_seed(5)
    steps = 8
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.Dropout(dropout), torch.nn.GELU(), torch.nn.Linear(32, 1)
    )
    data = TensorDataset(torch.randn(steps * 4, 8), torch.randn(steps * 4, 1))
    loader: Any = DataLoader(data, batch_size=4, **loader_options)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-2), loader)
    losses = []
    for inputs, targets in loader:
        assert inputs.device.type == "cuda"
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses, model


def test_a_cuda_device_is_used_by_default_and_not_when_the_cpu_is_asked_for() -> None:
    assert PartialState().device == torch.device("cuda", 0)
    assert Accelerator(cpu=True).device == torch.device("cpu")


@pytest.mark.parametrize("precision", ["no", "bf16", "fp16"])
@pytest.mark.parametrize("steps", [1, 2])
def test_training_is_repeatable_in_every_precision(precision: str, steps: int) -> None:
    def train() -> tuple[Accelerator, list[float], Any]:
        # A scaler that starts low skips no step; a new Accelerator has a new one.
        accelerator = Accelerator(
            mixed_precision=precision,
            gradient_accumulation_steps=steps,
            kwargs_handlers=[GradScalerKwargs(init_scale=256.0)],
        )
        return accelerator, *_train(accelerator)

    _, first, _ = train()
    accelerator, again, model = train()
    assert first == again
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert (accelerator.scaler is not None) is (precision == "fp16")


def test_mixed_precision_stays_near_full_precision() -> None:
    losses = {}
    for precision in ("no", "bf16", "fp16"):
        PartialState._reset_state()
        accelerator = Accelerator(mixed_precision=precision, kwargs_handlers=[GradScalerKwargs(init_scale=256.0)])
        # Dropout draws other masks for other dtypes.
        losses[precision], _ = _train(accelerator, dropout=0.0)
    assert losses["bf16"] == pytest.approx(losses["no"], rel=0.1, abs=0.05)
    assert losses["fp16"] == pytest.approx(losses["no"], rel=0.05, abs=0.02)


def test_overlapping_copies_from_pinned_memory_change_nothing() -> None:
    config = DataLoaderConfiguration(non_blocking=True)
    plain, _ = _train(Accelerator())
    overlapped, _ = _train(Accelerator(dataloader_config=config), pin_memory=True)
    assert overlapped == plain


def test_infinite_gradients_skip_a_step() -> None:
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(m := torch.nn.Linear(1, 1), torch.optim.SGD(m.parameters(), lr=1.0))
    before = model.weight.detach().clone()
    accelerator.backward((model(torch.ones(1, 1, device=accelerator.device)) * 1e38).sum())
    optimizer.step()
    assert accelerator.optimizer_step_was_skipped
    assert torch.equal(model.weight, before)


def test_the_generators_of_the_gpu_are_in_a_checkpoint_which_a_cpu_can_read(tmp_path: Path) -> None:
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    accelerator.save_state(tmp_path / "state")
    drawn = torch.rand(4, device=accelerator.device)
    accelerator.load_state(tmp_path / "state")
    assert torch.equal(torch.rand(4, device=accelerator.device), drawn)
    weight = model.weight.detach().cpu()
    PartialState._reset_state()
    on_cpu = Accelerator(cpu=True)
    there = on_cpu.prepare(torch.nn.Linear(2, 2))
    on_cpu.load_state(tmp_path / "state")
    assert torch.equal(there.weight, weight)


def test_memory_that_runs_out_shrinks_the_batch() -> None:
    from accelerate.memory import find_executable_batch_size

    total = torch.cuda.mem_get_info()[1]
    tried: list[int] = []

    @find_executable_batch_size(starting_batch_size=4, reduce_batch_size_fn=lambda: tried[-1] // 4)
    def allocate(batch_size: int) -> int:
        tried.append(batch_size)
        torch.empty(batch_size * (total // 3), dtype=torch.uint8, device="cuda")
        return batch_size

    assert allocate() == 1
    assert tried == [4, 1]


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns of its own parts, other ones in each release
def test_compiled_models_train_on_the_gpu() -> None:
    accelerator = Accelerator(dynamo_backend="inductor")
    model, optimizer = accelerator.prepare(m := torch.nn.Linear(4, 1), torch.optim.SGD(m.parameters(), lr=0.1))
    inputs = torch.ones(2, 4, device=accelerator.device)
    first = model(inputs).pow(2).mean()
    accelerator.backward(first)
    optimizer.step()
    assert model(inputs).pow(2).mean().item() < first.item()
