"""Who this process is among the processes of a run, as the variables of their starter tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accelerate.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """One process among others. Ranks and nodes count from 0.

    Args:
        rank: Number of this process in the whole run.
        world: Processes in the whole run.
        local_rank: Number of this process on its machine.
        local_world: Processes on this machine.
        node: Number of this machine.
        nodes: Machines in the run.

    Raises:
        ConfigError: The numbers cannot be true together.
    """

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    local_world: int = 1
    node: int = 0
    nodes: int = 1

    def __post_init__(self) -> None:
        for what, number, count in (
            ("rank", self.rank, self.world),
            ("local rank", self.local_rank, self.local_world),
            ("node", self.node, self.nodes),
        ):
            if not 0 <= number < count:
                raise ConfigError(f"This process is told to be {what} {number} of {count}.", "Ranks count from 0.")

    @property
    def main(self) -> bool:
        """Whether this is the first process of the run."""
        return self.rank == 0

    @property
    def local_main(self) -> bool:
        """Whether this is the first process of its machine."""
        return self.local_rank == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Dialect:
    """The variable names of one starter. The first two decide whether it started this process."""

    rank: str
    world: str
    local_rank: str
    local_world: str = ""
    node: str = ""
    nodes: str = ""


_DIALECTS = (
    # torchrun
    _Dialect(
        rank="RANK",
        world="WORLD_SIZE",
        local_rank="LOCAL_RANK",
        local_world="LOCAL_WORLD_SIZE",
        node="GROUP_RANK",
        nodes="GROUP_WORLD_SIZE",
    ),
    # Open MPI
    _Dialect(
        rank="OMPI_COMM_WORLD_RANK",
        world="OMPI_COMM_WORLD_SIZE",
        local_rank="OMPI_COMM_WORLD_LOCAL_RANK",
        local_world="OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    # Intel MPI and MPICH
    _Dialect(rank="PMI_RANK", world="PMI_SIZE", local_rank="MPI_LOCALRANKID", local_world="MPI_LOCALNRANKS"),
    # MVAPICH
    _Dialect(
        rank="MV2_COMM_WORLD_RANK",
        world="MV2_COMM_WORLD_SIZE",
        local_rank="MV2_COMM_WORLD_LOCAL_RANK",
        local_world="MV2_COMM_WORLD_LOCAL_SIZE",
    ),
    # Slurm
    _Dialect(
        rank="SLURM_PROCID",
        world="SLURM_STEP_NUM_TASKS",
        local_rank="SLURM_LOCALID",
        node="SLURM_NODEID",
        nodes="SLURM_STEP_NUM_NODES",
    ),
)


def detect(env: Mapping[str, str]) -> Topology:
    """Read the variables of torchrun, Open MPI, Intel MPI, MVAPICH or Slurm; other processes are alone.

    A Slurm allocation by itself does not count: only a process that `srun` started is one of several.

    Raises:
        ConfigError: A variable is not a whole number, or the numbers contradict each other.
    """
    for dialect in _DIALECTS:
        if dialect.rank in env and dialect.world in env:
            return _read(dialect, env)
    return Topology()


def _read(dialect: _Dialect, env: Mapping[str, str]) -> Topology:
    rank, world = _number(env, dialect.rank, 0), _number(env, dialect.world, 1)
    nodes = _number(env, dialect.nodes, 0)
    even = nodes > 0 and world % nodes == 0
    local_world = _number(env, dialect.local_world, world // nodes if even else world)
    per_node = max(1, local_world)
    nodes = nodes or max(1, -(-world // per_node))
    return Topology(
        rank=rank,
        world=world,
        local_rank=_number(env, dialect.local_rank, rank % per_node),
        local_world=local_world,
        node=_number(env, dialect.node, min(rank // per_node, nodes - 1)),
        nodes=nodes,
    )


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    """The whole number in a variable; `default` where it is unset or the starter has no such variable."""
    text = env.get(name)
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"The environment variable {name} is {text!r}.", "It must be a whole number.") from None
