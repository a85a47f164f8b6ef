from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.checkpoint import layout

small = st.integers(0, 10**6)


def test_names_are_those_of_the_api() -> None:
    assert layout.weights() == "model.safetensors"
    assert layout.weights(1) == "model_1.safetensors"
    assert layout.weights(safe=False) == "pytorch_model.bin"
    assert layout.weights(1, safe=False) == "pytorch_model_1.bin"
    assert layout.weights_index() == "model.safetensors.index.json"
    assert layout.weights_pattern().format(suffix="-00001-of-00002") == "model-00001-of-00002.safetensors"
    assert layout.optimizer() == "optimizer.bin"
    assert layout.optimizer(1) == "optimizer_1.bin"
    assert layout.scheduler(0) == "scheduler.bin"
    assert layout.sampler(2) == "sampler_2.bin"
    assert layout.stateful_loader() == "dl_state_dict.bin"
    assert layout.random_states() == "random_states_0.pkl"
    assert layout.custom() == "custom_checkpoint_0.pkl"


@given(small, st.booleans())
def test_every_name_is_recognised_as_ours(item: int, safe: bool) -> None:
    for name in (
        layout.weights(item, safe=safe),
        layout.weights_index(item, safe=safe),
        layout.weights_pattern(item, safe=safe).format(suffix=f"-{item:05d}-of-{item:05d}"),
        layout.optimizer(item),
        layout.scheduler(item),
        layout.sampler(item),
        layout.stateful_loader(item),
        layout.random_states(item),
        layout.custom(item),
        layout.SCALER,
    ):
        assert layout.is_ours(name), name


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "my_model.safetensors", "model.safetensors.bak", "model.pt", "random_states.pkl", "a/scaler.pt"],
)
def test_other_names_are_the_users(name: str) -> None:
    assert not layout.is_ours(name)


@pytest.mark.parametrize(
    ("name", "safe", "expected"),
    [
        ("model.safetensors", True, True),
        ("model-00002-of-00003.safetensors", True, True),
        ("model.safetensors.index.json", True, True),
        ("model_1.safetensors", True, False),
        ("pytorch_model.bin", True, False),
        ("pytorch_model.bin", False, True),
        ("optimizer.bin", False, False),
    ],
)
def test_an_export_is_one_format_of_one_model(name: str, safe: bool, expected: bool) -> None:
    assert layout.is_export(name, safe=safe) is expected


@given(small)
def test_numbers_come_back(number: int) -> None:
    assert layout.number_of(layout.numbered(number)) == number


@pytest.mark.parametrize(
    "name", ["checkpoint_", "checkpoint_x", ".checkpoint_3.writing", "checkpoint_3.old", "epoch_3"]
)
def test_other_folders_have_no_number(name: str) -> None:
    assert layout.number_of(name) is None


@given(st.integers(0, 20), st.integers(0, 20))
def test_counting_stops_at_the_first_gap(before: int, after: int) -> None:
    names = [layout.optimizer(item) for item in (*range(before), *range(before + 1, before + 1 + after))]
    assert layout.count(layout.optimizer, names) == before


def test_models_are_counted_in_every_form() -> None:
    names = ["model.safetensors", "pytorch_model_1.bin", "model_2.safetensors.index.json", "model_4.safetensors"]
    assert layout.count_models(names) == 3
