from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from accelerate import checkpointing
from accelerate.errors import CheckpointError


class Counter:
    """An object of the script."""

    def __init__(self, number: int) -> None:
        self.number = number

    def state_dict(self) -> Any:
        return {"number": self.number}

    def load_state_dict(self, state: Any) -> None:
        self.number = state["number"]


def test_signatures_are_those_of_the_api() -> None:
    names = {
        name: ", ".join(inspect.signature(getattr(checkpointing, name)).parameters) for name in checkpointing.__all__
    }
    assert names == {
        "load_accelerator_state": (
            "input_dir, models, optimizers, schedulers, dataloaders, process_index, scaler, map_location, "
            "load_kwargs, load_model_func_kwargs"
        ),
        "load_custom_state": "obj, path, index",
        "save_accelerator_state": (
            "output_dir, model_states, optimizers, schedulers, dataloaders, process_index, step, scaler, "
            "save_on_each_node, safe_serialization"
        ),
        "save_custom_state": "obj, path, index, save_on_each_node",
    }


@pytest.mark.parametrize("map_location", [None, "cpu", "on_device"])
def test_states_come_back(tmp_path: Path, map_location: str | None) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    folder = checkpointing.save_accelerator_state(
        str(tmp_path / "c"), [model.state_dict()], [optimizer], [], [], process_index=0, step=3
    )
    checkpointing.save_accelerator_state(str(folder), [], [], [], [], process_index=1, step=3)
    assert folder == tmp_path / "c"
    assert (folder / "random_states_1.pkl").is_file()
    other = nn.Linear(2, 1)
    other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    for rank in (0, 1):
        found = checkpointing.load_accelerator_state(
            str(folder), [other], [other_optimizer], [], [], process_index=rank, map_location=map_location, strict=True
        )
        assert found == {"step": 3}
    assert torch.equal(other.weight, model.weight)
    assert other_optimizer.param_groups[0]["lr"] == 0.5


def test_a_custom_object_comes_back(tmp_path: Path) -> None:
    checkpointing.save_custom_state(Counter(4), str(tmp_path), index=2)
    assert [path.name for path in tmp_path.iterdir()] == ["custom_checkpoint_2.pkl"]
    counter = Counter(0)
    checkpointing.load_custom_state(counter, str(tmp_path), index=2)
    assert counter.number == 4
    with pytest.raises(CheckpointError, match=r"custom_checkpoint_0\.pkl is missing"):
        checkpointing.load_custom_state(counter, str(tmp_path))
