from __future__ import annotations

from typing import Any

import pytest
import torch

from accelerate.distributed.collectives import Alone
from accelerate.errors import ConfigError

ALONE = Alone()


def test_what_would_be_exchanged_comes_back_itself() -> None:
    batch = {"a": torch.ones(2)}
    assert ALONE.gather(batch) is batch
    assert ALONE.gather_object([1]) == [1]
    assert ALONE.broadcast(batch) is batch
    assert ALONE.broadcast_object_list([1, 2], from_process=0) == [1, 2]
    assert ALONE.pad_across_processes(batch, dim=1, pad_index=3) is batch
    ALONE.barrier()


@pytest.mark.parametrize("reduction", ["sum", "mean", "none"])
def test_a_reduction_copies_and_scales(reduction: Any) -> None:
    tensor = torch.arange(3.0)
    result = ALONE.reduce({"a": tensor}, reduction, scale=2.0)["a"]
    assert result.tolist() == [0.0, 2.0, 4.0]
    copied = ALONE.reduce(tensor, reduction)
    copied += 1
    assert tensor.tolist() == [0.0, 1.0, 2.0]


def test_an_unknown_reduction_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'median'.*'sum', 'mean' and 'none'"):
        ALONE.reduce(torch.ones(1), "median")  # pyrefly: ignore


def test_only_tensors_are_reduced() -> None:
    with pytest.raises(TypeError, match="int"):
        ALONE.reduce([1])
