from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from accelerate.checkpoint import weights
from accelerate.errors import CheckpointError, ConfigError


class Tied(nn.Module):
    """Two names for one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.emb.weight


class Views(nn.Module):
    """Buffers that lie in one storage: side by side, overlapping, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.tied = nn.Linear(16, 16, bias=False)
        self.tied.weight = self.a.weight
        big = torch.randn(8, 4)
        self.register_buffer("part", big[2:5])
        self.register_buffer("other", big[5:])
        self.register_buffer("overlap", big[4:6])
        self.register_buffer("turned", big[2:5].t())


class Odd(nn.Module):
    """Tensors of every unusual kind."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow = nn.Parameter(torch.randn(3, 3, dtype=torch.bfloat16))
        self.scalar = nn.Parameter(torch.tensor(2.5))
        self.empty = nn.Parameter(torch.zeros(0, 3))
        self.also_empty = nn.Parameter(torch.zeros(0, 3))
        self.strided = nn.Parameter(torch.randn(4, 3).t())
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("count", torch.tensor(7))


def saved(folder: Path) -> dict[str, torch.Tensor]:
    return {name: value for path in folder.glob("*.safetensors") for name, value in load_file(path).items()}


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype and torch.equal(left[name], right[name]) for name in left
    )


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("limit", ["10GB", "1KB", 1])
@pytest.mark.parametrize("kind", [Tied, Views, Odd])
def test_every_value_comes_back(tmp_path: Path, kind: type[nn.Module], limit: str | int, safe: bool) -> None:
    torch.manual_seed(0)
    model = kind()
    weights.save_model(model, tmp_path, max_shard_size=limit, safe_serialization=safe)
    torch.manual_seed(1)
    other = kind()
    weights.load_into(other, weights.read(tmp_path), tmp_path)
    assert same(dict(model.state_dict()), dict(other.state_dict()))


def test_tied_weights_are_kept_once_and_stay_tied(tmp_path: Path) -> None:
    model = Tied()
    weights.save_model(model, tmp_path)
    assert list(saved(tmp_path)) == ["emb.weight"]
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
    other = Tied()
    weights.load_into(other, weights.read(tmp_path), tmp_path)
    assert other.head.weight is other.emb.weight
    assert torch.equal(other.emb.weight, model.emb.weight)


@pytest.mark.parametrize("limit", ["10GB", "1KB"])
def test_views_of_one_storage_are_all_kept(tmp_path: Path, limit: str) -> None:
    model = Views()
    weights.save_model(model, tmp_path, max_shard_size=limit)
    want = {name: value for name, value in model.state_dict().items() if name != "tied.weight"}
    assert same(saved(tmp_path), want)


def test_the_index_tells_what_the_files_hold(tmp_path: Path) -> None:
    weights.save_model(Views(), tmp_path, max_shard_size="1KB")
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    found = {name: path.name for path in tmp_path.glob("*.safetensors") for name in load_file(path)}
    assert index["weight_map"] == found
    total = sum(value.numel() * value.element_size() for value in saved(tmp_path).values())
    assert index["metadata"]["total_size"] == total
    assert (tmp_path / "model-00001-of-00002.safetensors").is_file()


def test_a_new_save_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    weights.save_model(Views(), tmp_path, max_shard_size="1KB")
    weights.save_model(Views(), tmp_path, safe_serialization=False)
    weights.save_model(Views(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors", "pytorch_model.bin"]


def test_a_model_without_weights_has_a_file(tmp_path: Path) -> None:
    weights.save_model(nn.ReLU(), tmp_path)
    assert weights.read(tmp_path) == {}


def test_names_of_compiled_and_wrapped_models_are_clean_and_understood(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    plain = dict(model.state_dict())
    compiled = {f"0._orig_mod.{name}": value for name, value in model[0].state_dict().items()}
    assert list(weights.state_of(compiled)) == ["0.weight", "0.bias"]
    for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."):
        other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        weights.load_into(other, {prefix + name: value for name, value in plain.items()}, tmp_path)
        assert same(dict(other.state_dict()), plain), prefix
    wrapped = nn.Module()
    wrapped.module = nn.Linear(2, 2)
    weights.load_into(wrapped, dict(wrapped.state_dict()), tmp_path)


def test_weights_of_another_model_are_refused_by_name(tmp_path: Path) -> None:
    state = {"weight": torch.zeros(2, 2), "extra": torch.zeros(1)}
    with pytest.raises(CheckpointError) as caught:
        weights.load_into(nn.Linear(3, 2), state, tmp_path / "c")
    assert str(caught.value).startswith(
        f"The weights in {tmp_path / 'c'} do not fit Linear: missing bias; unexpected extra; "
        "weight is (2, 2) in the file and (2, 3) in the model."
    )
    assert "\n" not in str(caught.value)


def test_many_names_are_cut_short(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="unexpected w0, w1, w2, w3, w4 and 95 more"):
        weights.load_into(nn.ReLU(), {f"w{number}": torch.zeros(1) for number in range(100)}, tmp_path)


def test_names_that_differ_can_be_passed_over_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = nn.Linear(2, 2)
    with caplog.at_level(logging.WARNING):
        weights.load_into(model, {"weight": torch.ones(2, 2), "extra": torch.zeros(1)}, tmp_path, strict=False)
    assert torch.equal(model.weight, torch.ones(2, 2))
    assert "only in part: missing bias; unexpected extra" in caplog.text
    with pytest.raises(CheckpointError, match=r"weight is \(3, 2\) in the file"):
        weights.load_into(model, {"weight": torch.ones(3, 2)}, tmp_path, strict=False)


def test_what_safetensors_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds extra, which is no tensor.*safe_serialization=False"):
        weights.save_model({"extra": [1]}, tmp_path)
    with pytest.raises(CheckpointError, match="weight of the model have no values: they are on the meta device"):
        weights.save_model({"weight": torch.zeros(1, device="meta")}, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["5 apples", "", "-"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: str) -> None:
    with pytest.raises(ConfigError, match="max_shard_size is"):
        weights.save_model(nn.Linear(1, 1), tmp_path, max_shard_size=size)


@pytest.mark.parametrize("part", [0.0, 0.05, 0.5, 0.99])
def test_a_damaged_file_is_named(tmp_path: Path, part: float) -> None:
    weights.save_model(nn.Linear(20, 20), tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged") as caught:
        weights.read(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": null}'])
def test_a_damaged_index_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"model\.safetensors\.index\.json is damaged"):
        weights.read(tmp_path)


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/secret", "a/b.safetensors", 7])
def test_an_index_cannot_name_files_elsewhere(tmp_path: Path, name: object) -> None:
    save_file({"w": torch.zeros(1)}, tmp_path / "secret.safetensors")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": name}}))
    with pytest.raises(CheckpointError, match="names the file"):
        weights.read(folder)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    weights.save_model(Views(), tmp_path, max_shard_size="1KB")
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model-00002-of-00002\.safetensors is missing from"):
        weights.read(tmp_path)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"There are no weights in .*model_1\.safetensors"):
        weights.read(tmp_path, 1)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="holds a list"):
        weights.read(tmp_path)
