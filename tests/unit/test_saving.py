"""One process of a run writes a file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
import torch

from accelerate import runtime, saving
from accelerate.errors import CheckpointError
from accelerate.topology import Topology

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("safe", [False, True])
def test_what_is_written_is_read(safe: bool, tmp_path: Path) -> None:
    file = tmp_path / "tensors"
    saving.save({"a": torch.arange(3)}, file, safe_serialization=safe)
    if safe:
        from safetensors.torch import load_file

        found = load_file(file)
    else:
        found = saving.load(file)
    assert {name: tensor.tolist() for name, tensor in found.items()} == {"a": [0, 1, 2]}


def test_tensors_can_be_read_to_another_place(tmp_path: Path) -> None:
    saving.save([torch.ones(2)], tmp_path / "x")
    assert saving.load(str(tmp_path / "x"), map_location="meta")[0].is_meta


@pytest.mark.parametrize(
    ("topology", "each_node", "writes"),
    [
        (Topology(rank=1, world=2, local_rank=1, local_world=2), True, False),
        (Topology(rank=1, world=2, local_rank=0, local_world=1, node=1, nodes=2), False, False),
        (Topology(rank=1, world=2, local_rank=0, local_world=1, node=1, nodes=2), True, True),
    ],
)
def test_who_writes(
    topology: Topology, each_node: bool, writes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dataclasses.replace(runtime.current(), topology=topology)
    monkeypatch.setattr(saving, "current", lambda: other)
    saving.save(1, tmp_path / "x", save_on_each_node=each_node)
    assert (tmp_path / "x").exists() is writes


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere"):
        saving.load(tmp_path / "nowhere")
