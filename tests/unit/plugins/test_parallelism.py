"""Sizes and names of a parallel layout."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.plugins.parallelism import ParallelismConfig

_SIZE = st.one_of(st.none(), st.integers(1, 8))


@given(replicate=_SIZE, shard=_SIZE, tensor=_SIZE, context=_SIZE)
def test_the_processes_are_those_with_own_batches_times_those_that_share_them(
    replicate: int | None, shard: int | None, tensor: int | None, context: int | None
) -> None:
    config = ParallelismConfig(dp_replicate_size=replicate, dp_shard_size=shard, tp_size=tensor, cp_size=context)
    assert config.total_size == config.data_parallel_size * config.non_data_parallel_size
    assert config.active_mesh_dims == config.dp_dim_names + config.non_dp_dim_names
    assert (config.total_size == 1) is (config.active_mesh_dims == [])


def test_a_layout_of_everything() -> None:
    config = ParallelismConfig(dp_replicate_size=2, dp_shard_size=3, cp_size=5, tp_size=7)
    assert (config.total_size, config.data_parallel_size, config.non_data_parallel_size) == (210, 6, 35)
    assert config.active_mesh_dims == ["dp_replicate", "dp_shard", "cp", "tp"]
    assert config.dp_cp_dim_names == ["dp_replicate", "dp_shard", "cp"]
    assert config.dp_shard_cp_dim_names == ["dp_shard", "cp"]
    assert config.fsdp_dim_names == ["dp_replicate", "dp_shard_cp"]
    assert (config.tp_enabled, config.sp_enabled, config.dp_replicate_enabled) == (True, False, True)
    assert json.loads(config.to_json())["dp_shard_size"] == 3


def test_one_process_is_the_default() -> None:
    config = ParallelismConfig()
    config.check()
    assert (config.total_size, config.fsdp_dim_names, config.cp_backend) == (1, ["dp_shard_cp"], "torch")
    assert config.get_device_mesh("cpu") is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tp_size": 0}, "tp_size is 0"),
        ({"dp_shard_size": -1}, "dp_shard_size is -1"),
        ({"cp_size": 2, "cp_backend": "zz"}, "cp_backend is 'zz'"),
        ({"cp_size": 2, "sp_size": 3}, "cp_size is 2 and sp_size is 3"),
    ],
)
def test_impossible_layouts(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ParallelismConfig(**options)


def test_several_processes_are_refused_when_it_comes_to_it() -> None:
    config = ParallelismConfig(dp_replicate_size=2, tp_size=2)
    with pytest.raises(ConfigError, match=r"4 processes \(dp_replicate_size=2, tp_size=2\)"):
        config.check()
    with pytest.raises(ConfigError, match="4 processes"):
        config.get_device_mesh("cuda")
    with pytest.raises(ConfigError, match="4 cuda"):
        config.build_device_mesh("cuda")
