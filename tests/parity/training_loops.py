"""Training loops as people write them for the API; each scenario returns what it computed.

They run under the peer and under ours, so they use only what both have. Nothing here checks anything.
"""

from __future__ import annotations

import random
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

from accelerate import Accelerator, skip_first_batches
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import (
    AutocastKwargs,
    DataLoaderConfiguration,
    GradientAccumulationPlugin,
    find_executable_batch_size,
    set_seed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Report = dict[str, Any]
SCENARIOS: dict[str, Callable[[], Report]] = {}


def scenario(function: Callable[[], Report]) -> Callable[[], Report]:
    """Enter a function into the list of scenarios."""
    SCENARIOS[function.__name__] = function
    return function


def fresh(**options: Any) -> Accelerator:
    """Return an Accelerator as a new process would make it."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    return Accelerator(cpu=True, **options)


def plugin(**options: Any) -> GradientAccumulationPlugin:
    """Return accumulation options that divide every window by `num_steps`, as the peer does."""
    ours = {"scale_partial_window": False} if hasattr(GradientAccumulationPlugin, "scale_partial_window") else {}
    return GradientAccumulationPlugin(**options, **ours)


def numbers(size: int, *shape: int) -> TensorDataset:
    """Return inputs of the given shape and a target for each."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(size, *shape, generator=generator)
    return TensorDataset(inputs, inputs.flatten(1).sum(1, keepdim=True).sin())


def mlp(dropout: float = 0.0) -> nn.Module:
    """Return a small model, always the same."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 1))


def convolutions() -> nn.Module:
    """Return a small model with batch norm and dropout, always the same."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.3), nn.Flatten(), nn.Linear(64, 1)
    )


def state(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the model's parameters and buffers."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def fit(
    accelerator: Accelerator,
    *,
    size: int = 30,
    batch_size: int = 4,
    epochs: int = 2,
    shuffle: bool = True,
    model: nn.Module | None = None,
    shape: tuple[int, ...] = (4,),
    make_scheduler: Callable[[torch.optim.Optimizer], LRScheduler] | None = None,
    max_norm: float | None = None,
    max_value: float | None = None,
) -> Report:
    """Train, and return every number that the loop sees."""
    set_seed(42)
    net = mlp() if model is None else model
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
    scheduler = LambdaLR(optimizer, lambda _: 1.0) if make_scheduler is None else make_scheduler(optimizer)
    loader = DataLoader(numbers(size, *shape), batch_size=batch_size, shuffle=shuffle)
    net, optimizer, loader, scheduler = accelerator.prepare(net, optimizer, loader, scheduler)
    losses: list[torch.Tensor] = []
    norms: list[Any] = []
    rates: list[float] = []
    synced: list[bool] = []
    skipped: list[bool] = []
    net.train()
    for _ in range(epochs):
        for inputs, targets in loader:
            with accelerator.accumulate(net):
                loss = nn.functional.mse_loss(net(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients and max_norm is not None:
                    norms.append(accelerator.clip_grad_norm_(net.parameters(), max_norm))
                if accelerator.sync_gradients and max_value is not None:
                    accelerator.clip_grad_value_(net.parameters(), max_value)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            losses.append(loss.detach())
            rates.append(scheduler.get_last_lr()[0])
            synced.append(accelerator.sync_gradients)
            skipped.append(accelerator.optimizer_step_was_skipped)
    return {
        "losses": losses,
        "norms": norms,
        "rates": rates,
        "synced": synced,
        "skipped": skipped,
        "weights": state(accelerator.unwrap_model(net)),
        "optimizer": optimizer.state_dict()["state"],
        "random": torch.rand(3),
    }


@scenario
def full_precision() -> Report:
    """Train in float32."""
    return fit(fresh())


@scenario
def bf16() -> Report:
    """Train under bf16 autocast."""
    return fit(fresh(mixed_precision="bf16"))


@scenario
def autocast_by_hand() -> Report:
    """Look at dtypes inside and outside of autocast."""
    accelerator = fresh(mixed_precision="bf16")
    model = accelerator.prepare(mlp())
    inputs = torch.randn(2, 4, generator=torch.Generator().manual_seed(3))
    with accelerator.autocast():
        inside = inputs @ inputs.T
    with accelerator.autocast(autocast_handler=AutocastKwargs(enabled=False)):
        disabled = inputs @ inputs.T
    output = model(inputs)
    return {
        "dtypes": [str(tensor.dtype) for tensor in (inside, disabled, output)],
        "values": [inside, disabled, output],
    }


@scenario
def accumulation() -> Report:
    """Accumulate over windows that fill the epoch."""
    return fit(fresh(gradient_accumulation_steps=4), size=32)


@scenario
def accumulation_with_a_short_last_window() -> Report:
    """Accumulate over windows of which the last is short."""
    return fit(fresh(gradient_accumulation_plugin=plugin(num_steps=3)))


@scenario
def accumulation_across_epochs() -> Report:
    """Accumulate over windows that go on in the next epoch."""
    return fit(fresh(gradient_accumulation_plugin=plugin(num_steps=3, sync_with_dataloader=False)), epochs=3)


@scenario
def clipping_by_norm() -> Report:
    """Clip the norm of gradients."""
    return fit(fresh(gradient_accumulation_steps=2), size=32, max_norm=0.3)


@scenario
def clipping_by_value() -> Report:
    """Clip gradients by value."""
    return fit(fresh(), max_value=0.01)


def falling(optimizer: torch.optim.Optimizer) -> LRScheduler:
    """Return a schedule that halves the rate at every step."""
    return LambdaLR(optimizer, lambda step: 0.5**step)


@scenario
def scheduler() -> Report:
    """Follow a schedule."""
    return fit(fresh(), make_scheduler=falling)


@scenario
def scheduler_with_accumulation() -> Report:
    """Follow a schedule of a fixed length while accumulating."""
    return fit(
        fresh(gradient_accumulation_plugin=plugin(num_steps=3)),
        make_scheduler=lambda optimizer: OneCycleLR(optimizer, max_lr=0.1, total_steps=16),
    )


@scenario
def scheduler_that_is_not_adjusted() -> Report:
    """Follow a schedule that does not count the batches between optimizer steps."""
    return fit(fresh(gradient_accumulation_plugin=plugin(num_steps=3, adjust_scheduler=False)), make_scheduler=falling)


@scenario
def scheduler_on_its_own() -> Report:
    """Follow a schedule that does not wait for the optimizer."""
    return fit(fresh(gradient_accumulation_steps=4, step_scheduler_with_optimizer=False), make_scheduler=falling)


@scenario
def convolutional() -> Report:
    """Train a model with batch norm and dropout."""
    return fit(fresh(), model=convolutions(), shape=(1, 6, 6))


@scenario
def split_batches() -> Report:
    """Train with batches that would be split among processes."""
    return fit(fresh(dataloader_config=DataLoaderConfiguration(split_batches=True)))


@scenario
def seedable_sampler() -> Report:
    """Train in an order that only depends on the seed and the epoch."""
    configuration = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=7)
    report = fit(fresh(dataloader_config=configuration), epochs=3)
    accelerator = fresh(dataloader_config=configuration)
    loader = accelerator.prepare(DataLoader(TensorDataset(torch.arange(10)), batch_size=3, shuffle=True))
    orders: list[list[int]] = []
    for epoch in (0, 1, 0, 5):
        loader.set_epoch(epoch)
        orders.append([number for (batch,) in loader for number in batch.tolist()])
    return report | {"orders": orders}


@scenario
def shuffled_order() -> Report:
    """Look at the order of an ordinary shuffled loader."""
    accelerator = fresh()
    set_seed(11)
    loader = accelerator.prepare(DataLoader(TensorDataset(torch.arange(10)), batch_size=3, shuffle=True))
    orders = [[number for (batch,) in loader for number in batch.tolist()] for _ in range(3)]
    return {"orders": orders, "random": torch.rand(2)}


@scenario
def metrics() -> Report:
    """Evaluate on data whose last batch is not full."""
    accelerator = fresh()
    model, loader = accelerator.prepare(mlp(), DataLoader(numbers(22, 4), batch_size=8))
    model.eval()
    outputs: list[torch.Tensor] = []
    right = 0
    lengths: list[int] = []
    for inputs, targets in loader:
        with torch.no_grad():
            output = model(inputs)
        gathered, wanted = accelerator.gather_for_metrics((output, targets))
        named = accelerator.gather_for_metrics({"a": [output], "b": targets})
        texts = accelerator.gather_for_metrics(["x"] * len(output), use_gather_object=True)
        outputs.append(gathered)
        right += int((gathered.sign() == wanted.sign()).sum())
        lengths += [len(gathered), len(named["a"][0]), len(texts)]
    return {"outputs": outputs, "right": right, "lengths": lengths}


@scenario
def metrics_beyond_the_batch() -> Report:
    """Gather more values than the last batch has samples, as transformers' Trainer does with losses."""
    report: Report = {}
    for size, drop_last in ((10, False), (8, False), (10, True)):
        accelerator = fresh()
        loader = accelerator.prepare(DataLoader(numbers(size, 4), batch_size=4, drop_last=drop_last))
        report[f"{size} {drop_last}"] = [
            [
                len(accelerator.gather_for_metrics(torch.ones(8))),
                len(accelerator.gather_for_metrics({"a": [torch.ones(8)]})["a"][0]),
                len(accelerator.gather_for_metrics(["x"] * 8)),
                len(accelerator.gather_for_metrics(torch.ones(1))),
                accelerator.gather_for_metrics(torch.tensor(3.0)),
            ]
            for _ in loader
        ]
        report[f"{size} {drop_last} after"] = len(accelerator.gather_for_metrics(torch.ones(8)))
    return report


@scenario
def several_optimizers() -> Report:
    """Train two models, each with its own optimizer and its own pace."""
    accelerator = fresh(gradient_accumulation_steps=2)
    set_seed(42)
    first, second = mlp(), mlp()
    fast, slow = torch.optim.SGD(first.parameters(), lr=0.1, momentum=0.9), torch.optim.Adam(second.parameters())
    loader = DataLoader(numbers(16, 4), batch_size=4, shuffle=True)
    first, second, fast, slow, loader = accelerator.prepare(first, second, fast, slow, loader)
    losses: list[torch.Tensor] = []
    for _ in range(2):
        for inputs, targets in loader:
            with accelerator.accumulate(first, second):
                loss = (first(inputs) - targets).abs().mean() + (second(inputs) - first(inputs).detach()).pow(2).mean()
                accelerator.backward(loss)
                fast.step()
                slow.step()
                fast.zero_grad()
                slow.zero_grad()
            losses.append(loss.detach())
    return {"losses": losses, "first": state(first), "second": state(second)}


@scenario
def accumulation_by_hand() -> Report:
    """Accumulate with `no_sync`, in a loop that counts for itself."""
    accelerator = fresh()
    set_seed(42)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(numbers(16, 4), batch_size=4))
    losses: list[torch.Tensor] = []
    for index, (inputs, targets) in enumerate(loader):
        if index % 2 == 0:
            with accelerator.no_sync(model):
                loss = nn.functional.mse_loss(model(inputs), targets) / 2
                accelerator.backward(loss)
        else:
            loss = nn.functional.mse_loss(model(inputs), targets) / 2
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
    return {"losses": losses, "weights": state(model)}


@scenario
def loop_that_sets_the_flag() -> Report:
    """Accumulate as transformers' Trainer does: it says itself when gradients are complete."""
    accelerator = fresh(gradient_accumulation_plugin=plugin(num_steps=1))
    set_seed(42)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(numbers(24, 4), batch_size=4))
    losses: list[torch.Tensor] = []
    for index, (inputs, targets) in enumerate(loader):
        accelerator.gradient_state._set_sync_gradients(index % 3 == 2)
        loss = nn.functional.mse_loss(model(inputs), targets) / 3
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return {"losses": losses, "weights": state(model), "end": accelerator.gradient_state.end_of_dataloader}


def _resumable(accelerator: Accelerator, dropout: float) -> tuple[Any, ...]:
    set_seed(42)
    model = mlp(dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = falling(optimizer)
    loader = DataLoader(numbers(32, 4), batch_size=4)
    return accelerator.prepare(model, optimizer, loader, schedule)


def _run(accelerator: Accelerator, parts: tuple[Any, ...], batches: Any, stop_after: int) -> list[torch.Tensor]:
    model, optimizer, _, schedule = parts
    model.train()
    losses: list[torch.Tensor] = []
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
        if len(losses) == stop_after:
            break
    return losses


def _two_epochs(dropout: float, save_after: int | None = None) -> Report:
    """Train for two epochs of 8 batches, with a new Accelerator after `save_after` batches if that is given."""
    accelerator = fresh(gradient_accumulation_steps=2)
    parts = _resumable(accelerator, dropout)
    losses = _run(accelerator, parts, parts[2], stop_after=save_after or 8)
    if save_after is not None:
        with tempfile.TemporaryDirectory() as folder:
            accelerator.save_state(folder)
            accelerator = fresh(gradient_accumulation_steps=2)
            parts = _resumable(accelerator, dropout)
            torch.rand(5)
            accelerator.load_state(folder)
        losses += _run(accelerator, parts, skip_first_batches(parts[2], save_after), stop_after=8)
    losses += _run(accelerator, parts, parts[2], stop_after=8)
    return {"losses": losses, "weights": state(parts[0]), "rate": parts[3].get_last_lr()}


@scenario
def resuming() -> Report:
    """Save in the middle of an epoch, load in a new Accelerator, and go on."""
    return _two_epochs(dropout=0.0, save_after=4)


@scenario
def uninterrupted_with_dropout() -> Report:
    """Train a model with dropout at one go."""
    return _two_epochs(dropout=0.4)


@scenario
def resuming_with_dropout() -> Report:
    """The same with a checkpoint in the middle of an epoch. The peer draws other random numbers afterwards."""
    return _two_epochs(dropout=0.4, save_after=4)


@scenario
def batch_size_search() -> Report:
    """Look for a batch size that fits."""
    tried: list[int] = []

    @find_executable_batch_size(starting_batch_size=100)
    def train(batch_size: int, fits: int) -> int:
        tried.append(batch_size)
        if batch_size > fits:
            raise RuntimeError("CUDA out of memory.")
        return batch_size

    fresh()
    return {"found": train(17), "tried": tried}


@scenario
def seeds() -> Report:
    """Look at what the generators give after seeding."""
    fresh()
    streams: list[Any] = []
    for seed, device_specific in ((3, False), (3, True), (4, False)):
        set_seed(seed, device_specific=device_specific)
        streams += [random.random(), np.random.rand(3), torch.rand(3)]
    return {"streams": streams}


@scenario
def operations() -> Report:
    """Use the collective operations of a process that is alone."""
    accelerator = fresh()
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    with accelerator.split_between_processes(["a", "b", "c"]) as part:
        mine = list(part)
    return {
        "gather": accelerator.gather({"x": tensor, "y": [tensor[0]]}),
        "sum": accelerator.reduce(tensor, reduction="sum"),
        "mean": accelerator.reduce(tensor, reduction="mean"),
        "pad": accelerator.pad_across_processes(tensor, dim=1, pad_index=-1),
        "mine": mine,
        "who": [accelerator.process_index, accelerator.num_processes, accelerator.is_main_process],
        "type": accelerator.distributed_type.value,
        "device": str(accelerator.device),
    }
