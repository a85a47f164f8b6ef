"""How a run's processes would be laid out along several kinds of parallelism."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from accelerate.errors import ConfigError


@dataclass
class ParallelismConfig:
    """The extent of each kind of parallelism. This version runs one process, so it accepts sizes of 1 only.

    A size that is None is 1. The handlers hold further options of their kind.

    Args:
        dp_replicate_size: Copies of the model that share the data.
        dp_shard_size: Processes that share one copy's weights and the data (FSDP).
        tp_size: Processes that share each layer's tensors.
        cp_size: Processes that share a sequence's tokens in attention.
        cp_backend: `"torch"`.
        sp_size: Processes that share a sequence (DeepSpeed's kind).
        sp_backend: `"deepspeed"`.
        tp_handler: Options of tensor parallelism.
        cp_handler: Options of context parallelism.
        sp_handler: Options of sequence parallelism.

    Raises:
        ConfigError: A size below 1, an unknown backend, or context and sequence parallelism together.
    """

    dp_replicate_size: int | None = None
    dp_shard_size: int | None = None
    tp_size: int | None = None
    cp_size: int | None = None
    cp_backend: str | None = None
    sp_size: int | None = None
    sp_backend: str | None = None
    tp_handler: Any = None
    cp_handler: Any = None
    sp_handler: Any = None

    def __post_init__(self) -> None:
        """Fill in what was left out, and check."""
        self._sizes: dict[str, int] = {}
        for name in ("dp_replicate", "dp_shard", "cp", "sp", "tp"):
            size = getattr(self, f"{name}_size")
            self._sizes[name] = 1 if size is None else size
            if self._sizes[name] < 1:
                raise ConfigError(f"{name}_size is {size}.", "It must be at least 1.")
            setattr(self, f"{name}_size", self._sizes[name])
        for name, only in (("cp_backend", "torch"), ("sp_backend", "deepspeed")):
            if getattr(self, name) not in (None, only):
                raise ConfigError(f"{name} is {getattr(self, name)!r}.", f"It must be {only!r}.")
            setattr(self, name, only)
        if self.cp_enabled and self.sp_enabled:
            raise ConfigError(
                f"cp_size is {self.cp_size} and sp_size is {self.sp_size}.", "At most one of them can be above 1."
            )

    def _product(self, *names: str) -> int:
        result = 1
        for name in names:
            result *= self._sizes[name]
        return result

    def _active(self, *names: str) -> list[str]:
        return [name for name in names if self._sizes[name] > 1]

    @property
    def total_size(self) -> int:
        """The number of processes that the layout needs."""
        return self._product(*self._sizes)

    @property
    def data_parallel_size(self) -> int:
        """The number of processes that get batches of their own."""
        return self._product("dp_replicate", "dp_shard")

    @property
    def non_data_parallel_size(self) -> int:
        """The number of processes that work on one batch together."""
        return self._product("cp", "sp", "tp")

    @property
    def dp_replicate_enabled(self) -> bool:
        """Whether there is more than one copy of the model."""
        return self._sizes["dp_replicate"] > 1

    @property
    def dp_shard_enabled(self) -> bool:
        """Whether weights are shared between processes."""
        return self._sizes["dp_shard"] > 1

    @property
    def tp_enabled(self) -> bool:
        """Whether the tensors of a layer are shared between processes."""
        return self._sizes["tp"] > 1

    @property
    def cp_enabled(self) -> bool:
        """Whether the tokens of a sequence are shared in attention."""
        return self._sizes["cp"] > 1

    @property
    def sp_enabled(self) -> bool:
        """Whether a sequence is shared, DeepSpeed's way."""
        return self._sizes["sp"] > 1

    @property
    def active_mesh_dims(self) -> list[str]:
        """The names of the dimensions above 1, outermost first."""
        return self._active(*self._sizes)

    @property
    def dp_dim_names(self) -> list[str]:
        """The dimensions along which batches differ."""
        return self._active("dp_replicate", "dp_shard")

    @property
    def non_dp_dim_names(self) -> list[str]:
        """The dimensions along which batches are the same."""
        return self._active("cp", "sp", "tp")

    @property
    def dp_shard_cp_dim_names(self) -> list[str]:
        """The dimensions along which weights are shared."""
        return self._active("dp_shard", "cp")

    @property
    def dp_cp_dim_names(self) -> list[str]:
        """The dimensions along which losses are averaged."""
        return self._active("dp_replicate", "dp_shard", "cp")

    @property
    def fsdp_dim_names(self) -> list[str]:
        """The dimensions of the mesh that FSDP gets."""
        return [*self._active("dp_replicate"), "dp_shard_cp"]

    def check(self) -> None:
        """Refuse a layout for several processes.

        Raises:
            ConfigError: `total_size` is above 1.
        """
        if self.total_size > 1:
            self._refuse(f"ParallelismConfig asks for {self.total_size} processes")

    def build_device_mesh(self, device_type: str) -> NoReturn:
        """Refuse: there is no mesh of one process.

        Raises:
            ConfigError: Always.
        """
        self._refuse(f"A mesh of {self.total_size} {device_type} process(es) was asked for")

    def get_device_mesh(self, device_type: str | None = None) -> None:
        """Return the mesh: None, as one process has none.

        Raises:
            ConfigError: `total_size` is above 1.
        """
        del device_type
        self.check()

    def _refuse(self, what: str) -> NoReturn:
        active = ", ".join(f"{name}_size={self._sizes[name]}" for name in self.active_mesh_dims) or "all sizes 1"
        raise ConfigError(f"{what} ({active}).", "This version runs one process.", "Leave it out.")

    def to_json(self) -> str:
        """Return the sizes and backends as JSON text."""
        backends = {"cp_backend": self.cp_backend, "sp_backend": self.sp_backend}
        return json.dumps({f"{name}_size": size for name, size in self._sizes.items()} | backends)
