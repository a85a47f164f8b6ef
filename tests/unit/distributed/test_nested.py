from __future__ import annotations

from collections import OrderedDict, UserDict, namedtuple
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from accelerate.distributed import nested
from accelerate.plugins.information import TensorInformation


class Pair(NamedTuple):
    left: Any
    right: Any


Untyped = namedtuple("Untyped", "a b")


def _structures() -> st.SearchStrategy[Any]:
    leaves = st.integers(0, 9).map(lambda n: torch.full((2,), float(n)))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.tuples(inner, inner),
            st.builds(Pair, inner, inner),
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
        ),
        max_leaves=8,
    )


def _add_one(tensor: torch.Tensor) -> torch.Tensor:
    return tensor + 1


def _take_one(tensor: torch.Tensor) -> torch.Tensor:
    return tensor - 1


@given(_structures())
def test_applying_a_function_and_its_inverse_gives_the_structure_back(data: Any) -> None:
    there = nested.recursively_apply(_add_one, data)
    back = nested.recursively_apply(_take_one, there)
    assert nested.listify(back) == nested.listify(data)
    assert type(back) is type(data)


@given(_structures())
def test_a_structure_can_be_described_and_allocated_again(data: Any) -> None:
    described = nested.get_data_structure(data)
    again = nested.initialize_tensors(described)
    assert nested.get_data_structure(again) == described


@pytest.mark.parametrize(
    "data",
    [
        [torch.ones(1)],
        (torch.ones(1), torch.ones(1)),
        Pair(torch.ones(1), [torch.ones(1)]),
        Untyped(torch.ones(1), 3),
        OrderedDict(b=torch.ones(1), a=torch.ones(1)),
        UserDict({"a": torch.ones(1)}),
        {"a": {"b": (torch.ones(1),)}},
    ],
)
def test_containers_keep_their_type_and_order(data: Any) -> None:
    result = nested.recursively_apply(_add_one, data)
    assert type(result) is type(data)
    if isinstance(data, dict):
        assert list(result) == list(data)


def test_other_leaves_stay_unless_they_are_refused() -> None:
    data = {"text": "a", "number": 3, "tensor": torch.ones(1)}
    assert nested.recursively_apply(_add_one, data)["text"] == "a"
    with pytest.raises(TypeError, match=r"str cannot be used by _add_one.*is_torch_tensor"):
        nested.recursively_apply(_add_one, data, error_on_other_type=True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (torch.ones(3, 2), 3),
        ([torch.ones(4), torch.ones(5)], 4),
        ({"a": (torch.ones(2, 1),)}, 2),
    ],
)
def test_the_batch_size_is_that_of_the_first_tensor(data: Any, expected: int) -> None:
    assert nested.find_batch_size(data) == expected


@pytest.mark.parametrize(("data", "error"), [({}, ValueError), ([], ValueError), ("text", TypeError), ([3], TypeError)])
def test_a_batch_without_a_size_is_explained_or_ignored(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="batch"):
        nested.find_batch_size(data)
    assert nested.ignorant_find_batch_size(data) is None


def test_the_batch_size_of_a_number_without_dimensions_is_ignored() -> None:
    assert nested.ignorant_find_batch_size(torch.tensor(3.0)) is None


def test_the_device_is_that_of_the_first_tensor() -> None:
    assert nested.find_device(["a", {"x": torch.ones(1)}]) == torch.device("cpu")
    assert nested.find_device("a") is None


def test_lists_of_numbers_come_out_of_bfloat16_too() -> None:
    assert nested.listify({"a": torch.ones(2, dtype=torch.bfloat16)}) == {"a": [1.0, 1.0]}


def test_structures_are_joined_tensor_by_tensor() -> None:
    joined = nested.concatenate([Pair(torch.ones(1), {"a": torch.zeros(2)})] * 2)
    assert isinstance(joined, Pair)
    assert joined.left.shape == (2,)
    assert joined.right["a"].shape == (4,)
    with pytest.raises(TypeError, match="str"):
        nested.concatenate(["a", "b"])


def test_slices_are_taken_of_every_tensor() -> None:
    assert nested.listify(nested.slice_tensors([torch.arange(4)], slice(1, 3))) == [[1, 2]]


@pytest.mark.parametrize(
    ("data", "only_tensors", "cut"),
    [
        (torch.arange(3), True, [0, 1]),
        ({"a": (torch.arange(3), torch.tensor(7))}, True, {"a": ([0, 1], 7)}),
        ([torch.arange(3)], True, [[0, 1]]),
        (["a", "b", "c"], False, ["a", "b"]),
        ("abc", False, "abc"),
        ({"a": "x"}, False, {"a": "x"}),
    ],
)
def test_the_first_samples_are_those_of_tensors_or_of_a_list(data: Any, only_tensors: bool, cut: Any) -> None:
    assert nested.holds_only_tensors(data) is only_tensors
    assert nested.listify(nested.first_samples(data, 2)) == cut


@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
        (torch.int8, torch.int8),
    ],
)
def test_only_half_precision_becomes_float32(given_dtype: torch.dtype, expected: torch.dtype) -> None:
    def model() -> dict[str, torch.Tensor]:
        """Say something."""
        return {"logits": torch.ones(1).to(given_dtype)}

    converted = nested.convert_outputs_to_fp32(model)
    assert converted()["logits"].dtype == expected
    assert converted.__doc__ == "Say something."


@given(st.integers(1, 20), st.integers(1, 8))
def test_padding_makes_the_length_divisible_by_repeating_the_last_item(size: int, processes: int) -> None:
    padded = nested.pad_input_tensors(torch.arange(size), size, processes)
    assert len(padded) % processes == 0
    assert len(padded) - size < processes
    assert padded[:size].tolist() == list(range(size))
    assert set(padded[size:].tolist()) <= {size - 1}


def test_kinds_of_leaves_are_told_apart() -> None:
    assert nested.is_tensor_information(TensorInformation(torch.Size([1]), torch.float32))
    assert not nested.is_tensor_information(torch.ones(1))
    assert nested.is_namedtuple(Pair(1, 2))
    assert not nested.is_namedtuple((1, 2))
