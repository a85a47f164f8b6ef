"""Checkpoints and exports written by one implementation and read by the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from accelerate.checkpoint import layout, weights
from parity.peer import requires_peer, run_under

pytestmark = [pytest.mark.parity, requires_peer]

Which = Literal["peer", "ours"]

RUN = """
import os, random
import numpy as np, torch
from accelerate import Accelerator
from accelerate.utils import set_seed

class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(6, 4)
        self.mid = torch.nn.Linear(4, 4).to(torch.bfloat16)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(4, 6, bias=False)
        self.head.weight = self.emb.weight
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, x):
        self.seen += 1
        return self.head(self.mid(self.drop(self.emb(x)).bfloat16()).float())

class History:
    def __init__(self):
        self.values = []

    def state_dict(self):
        return {"values": self.values, "best": min(self.values, default=None)}

    def load_state_dict(self, state):
        self.values = state["values"]

def build(seed):
    set_seed(seed)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    models = [Tied(), torch.nn.Linear(6, 1)]
    optimizers = [torch.optim.AdamW(models[0].parameters(), lr=0.1), torch.optim.SGD(models[1].parameters(), 0.1, 0.9)]
    schedulers = [torch.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in optimizers]
    prepared = accelerator.prepare(*models, *optimizers, *schedulers)
    history = History()
    accelerator.register_for_checkpointing(history)
    return accelerator, prepared[:2], prepared[2:4], prepared[4:], history

def train(run, steps):
    accelerator, models, optimizers, schedulers, history = run
    losses = []
    for _ in range(steps):
        with accelerator.accumulate(*models):
            x = torch.tensor([random.randrange(6), np.random.randint(6), int(torch.randint(6, (1,)))])
            loss = models[1](models[0](x)).square().mean()
            accelerator.backward(loss)
            for each in (*optimizers, *schedulers):
                each.step()
            for optimizer in optimizers:
                optimizer.zero_grad()
        losses.append(loss.item())
        history.values.append(loss.item())
    return losses, [s.get_last_lr() for s in schedulers], accelerator.step, models[0].seen, history.values

FORMS = {"safe": True, "pickled": False}
"""

SAVE = """
run = build(3)
train(run, 4)
for form, safe in FORMS.items():
    report(form + " returned", str(run[0].save_state(form, safe_serialization=safe)))
    report(form + " files", sorted(os.listdir(form)))
report("after", train(run, 6))
"""

LOAD = """
run = build(4)
train(run, 2)
for form in FORMS:
    run[0].load_state(form)
    report(form, train(run, 6))
    report(form + " tied", run[1][0].head.weight is run[1][0].emb.weight)
"""

EXPORT = """
import torch
from accelerate import Accelerator

class Views(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Linear(16, 16)
        self.b = torch.nn.Linear(16, 16).to(torch.bfloat16)
        self.tied = torch.nn.Linear(16, 16, bias=False)
        self.tied.weight = self.a.weight
        self.register_buffer("turned", torch.randn(3, 5).t())
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("empty", torch.zeros(0, 2))

model = Views()
"""

SAVE_MODELS = """
accelerator = Accelerator(cpu=True)
for safe in (True, False):
    for limit in ("1KB", "10GB"):
        accelerator.save_model(model, f"{limit} {safe}", max_shard_size=limit, safe_serialization=safe)
"""

# The API's own loader, so that the text runs under the peer.
LOAD_MODELS = """
from accelerate import load_checkpoint_in_model
want = {name: value.clone() for name, value in model.state_dict().items()}
for safe in (True, False):
    for limit in ("1KB", "10GB"):
        with torch.no_grad():
            for value in model.state_dict().values():
                value.zero_()
        load_checkpoint_in_model(model, f"{limit} {safe}", strict=False)
        model.tied.weight = model.a.weight
        same = {name: torch.equal(value, want[name]) for name, value in model.state_dict().items()}
        report(f"{limit} {safe}", same)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[Which, tuple[Path, dict[str, Any]]]:
    """Where each of the two saved a run, and what it reported, with how the run went on."""

    def save(which: Which) -> tuple[Path, dict[str, Any]]:
        folder = tmp_path_factory.mktemp(which)
        return folder, run_under(which, RUN + SAVE, cwd=folder)

    return {"peer": save("peer"), "ours": save("ours")}


def test_files_and_results_of_a_save_are_the_same(saved: dict[Which, tuple[Path, dict[str, Any]]]) -> None:
    assert saved["ours"][1] == saved["peer"][1]


@pytest.mark.parametrize(("writer", "reader"), [("peer", "ours"), ("ours", "peer")])
def test_a_run_goes_on_under_the_other(
    saved: dict[Which, tuple[Path, dict[str, Any]]], writer: Which, reader: Which
) -> None:
    folder, uninterrupted = saved[writer]
    resumed = run_under(reader, RUN + LOAD, cwd=folder)
    for form in ("safe", "pickled"):
        assert resumed[form] == uninterrupted["after"], form
        assert resumed[f"{form} tied"] is True


def test_our_exports_are_read_by_the_peer(tmp_path: Path) -> None:
    run_under("ours", EXPORT + SAVE_MODELS, cwd=tmp_path)
    for name, same in run_under("peer", EXPORT + LOAD_MODELS, cwd=tmp_path).items():
        assert set(same.values()) == {True}, name


def test_the_peers_exports_are_read_by_us(tmp_path: Path) -> None:
    run_under("peer", EXPORT + SAVE_MODELS, cwd=tmp_path)
    for safe in (True, False):
        for limit, shards in (("1KB", True), ("10GB", False)):
            folder = tmp_path / f"{limit} {safe}"
            assert (folder / layout.weights_index(safe=safe)).is_file() is shards
            found = weights.read(folder)
            assert {"b.weight", "turned", "scalar", "empty"} < set(found)
            assert found["b.weight"].dtype == torch.bfloat16
            assert found["turned"].shape == (5, 3)
            assert found["scalar"].item() == 2.5
