from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

MPS = torch.device("mps")


@pytest.fixture
def state() -> dict[str, torch.Tensor]:
    return {
        "weight": torch.arange(12.0, device=MPS).view(3, 4),
        "half": torch.ones(2, dtype=torch.bfloat16, device=MPS),
    }


def test_tensors_come_back_to_the_device(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    torch.save(state, tmp_path / "state.pt")
    for place, device in ((None, "mps"), ("cpu", "cpu"), ("mps", "mps"), (MPS, "mps")):
        loaded = torch.load(tmp_path / "state.pt", map_location=place)
        assert {one.device.type for one in loaded.values()} == {device}
        assert all(torch.equal(loaded[name].cpu(), one.cpu()) for name, one in state.items())


def test_tensors_of_the_cpu_can_be_loaded_there(tmp_path: Path) -> None:
    torch.save(torch.arange(3), tmp_path / "it.pt")
    assert torch.load(tmp_path / "it.pt", map_location="mps").device.type == "mps"


def test_safetensors(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    save_file(state, tmp_path / "state.safetensors")
    loaded = load_file(tmp_path / "state.safetensors", device="mps")
    assert {one.device.type for one in loaded.values()} == {"mps"}
    assert all(torch.equal(loaded[name], one) for name, one in state.items())


def test_pickles(state: dict[str, torch.Tensor]) -> None:
    loaded = pickle.loads(pickle.dumps(state))
    assert loaded["weight"].device.type == "mps"
    assert torch.equal(loaded["weight"], state["weight"])


def test_optimizers_go_on(tmp_path: Path) -> None:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        layer = nn.Linear(2, 2).to(MPS)
        return layer, torch.optim.AdamW(layer.parameters(), fused=True)

    def step(layer: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        layer(torch.ones(1, 2, device=MPS)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    first, second = make(), make()
    step(*first)
    torch.save([part.state_dict() for part in first], tmp_path / "all.pt")
    for part, saved in zip(second, torch.load(tmp_path / "all.pt"), strict=True):
        part.load_state_dict(saved)
    step(*first)
    step(*second)
    assert all(torch.equal(a, b) for a, b in zip(first[0].parameters(), second[0].parameters(), strict=True))


def test_models_start_without_memory() -> None:
    with torch.device("meta"):
        layer = nn.Linear(2, 2)
    assert layer.to_empty(device=MPS).weight.device.type == "mps"
    with torch.device("mps"):
        assert nn.Linear(2, 2).weight.device.type == "mps"
