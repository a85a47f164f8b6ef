from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.topology import Topology, detect

ALONE = Topology()


def torchrun(rank: int, world: int, local: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(rank % local),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_RANK": str(rank // local),
        "GROUP_WORLD_SIZE": str(world // local),
    }


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ALONE),
        ({"RANK": "1"}, ALONE),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, ALONE),
        (torchrun(0, 1, 1), ALONE),
        (
            torchrun(5, 8, 4),
            Topology(rank=5, world=8, local_rank=1, local_world=4, node=1, nodes=2),
        ),
        ({"RANK": "1", "WORLD_SIZE": "2"}, Topology(rank=1, world=2, local_rank=1, local_world=2)),
        (
            {
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            },
            Topology(rank=3, world=4, local_rank=1, local_world=2, node=1, nodes=2),
        ),
        (
            {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
            Topology(rank=1, world=2, local_rank=1, local_world=2),
        ),
        (
            {
                "MV2_COMM_WORLD_RANK": "1",
                "MV2_COMM_WORLD_SIZE": "2",
                "MV2_COMM_WORLD_LOCAL_RANK": "0",
                "MV2_COMM_WORLD_LOCAL_SIZE": "1",
            },
            Topology(rank=1, world=2, local_rank=0, local_world=1, node=1, nodes=2),
        ),
        (
            {
                "SLURM_PROCID": "6",
                "SLURM_STEP_NUM_TASKS": "8",
                "SLURM_LOCALID": "2",
                "SLURM_NODEID": "1",
                "SLURM_STEP_NUM_NODES": "2",
            },
            Topology(rank=6, world=8, local_rank=2, local_world=4, node=1, nodes=2),
        ),
    ],
)
def test_starters(env: dict[str, str], expected: Topology) -> None:
    assert detect(env) == expected


def test_torchrun_goes_before_the_starter_of_torchrun() -> None:
    slurm = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_LOCALID": "0"}
    assert detect({**slurm, **torchrun(1, 2, 2)}).rank == 1


@given(local=st.integers(1, 16), nodes=st.integers(1, 16), data=st.data())
def test_every_rank_knows_its_place(local: int, nodes: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, local * nodes - 1))
    env = torchrun(rank, local * nodes, local)
    full = detect(env)
    assert full == Topology(
        rank=rank, world=local * nodes, local_rank=rank % local, local_world=local, node=rank // local, nodes=nodes
    )
    bare = {name: value for name, value in env.items() if not name.startswith("GROUP")}
    assert detect(bare) == full
    assert full.main == (rank == 0)
    assert full.local_main == (rank % local == 0)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK is 'x'"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 of 2"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "rank -1 of 2"),
        ({"RANK": "0", "WORLD_SIZE": "0"}, "rank 0 of 0"),
        ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "1"}, "local rank 1 of 1"),
    ],
)
def test_contradictions(env: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        detect(env)
