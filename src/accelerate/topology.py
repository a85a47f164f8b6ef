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


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The variable names of one starter; the first two decide whether it started this process."""

    rank: str
    world: str
    local_rank: tuple[str, ...]
    local_world: tuple[str, ...]
    node: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


_DIALECTS = (
    _Dialect("RANK", "WORLD_SIZE", ("LOCAL_RANK",), ("LOCAL_WORLD_SIZE",), ("GROUP_RANK",), ("GROUP_WORLD_SIZE",)),
    _Dialect(
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        ("OMPI_COMM_WORLD_LOCAL_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
    ),
    _Dialect("PMI_RANK", "PMI_SIZE", ("MPI_LOCALRANKID",), ("MPI_LOCALNRANKS",)),
    _Dialect(
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        ("MV2_COMM_WORLD_LOCAL_RANK",),
        ("MV2_COMM_WORLD_LOCAL_SIZE",),
    ),
    _Dialect(
        "SLURM_PROCID",
        "SLURM_STEP_NUM_TASKS",
        ("SLURM_LOCALID",),
        (),
        ("SLURM_NODEID",),
        ("SLURM_STEP_NUM_NODES",),
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
    rank, world = _number(env, dialect.rank), _number(env, dialect.world)
    nodes = _first(env, dialect.nodes)
    local_world = _first(env, dialect.local_world)
    if local_world is None:
        local_world = world // nodes if nodes and world % nodes == 0 else world
    local_rank = _first(env, dialect.local_rank)
    if local_rank is None:
        local_rank = rank % local_world
    if nodes is None:
        nodes = max(1, -(-world // local_world))
    node = _first(env, dialect.node) if dialect.nodes else None
    if node is None:
        node = min(rank // local_world, nodes - 1)
    return Topology(rank=rank, world=world, local_rank=local_rank, local_world=local_world, node=node, nodes=nodes)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((_number(env, name) for name in names if env.get(name)), None)


def _number(env: Mapping[str, str], name: str) -> int:
    try:
        return int(env[name])
    except ValueError:
        raise ConfigError(f"The environment variable {name} is {env[name]!r}.", "It must be a whole number.") from None
