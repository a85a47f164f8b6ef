"""Starting a training function from a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelerate.errors import ConfigError, LaunchError
from accelerate.launch import environment
from accelerate.plugins.enums import PrecisionType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def notebook_launcher(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    num_processes: int | None = None,
    mixed_precision: str = "no",
    use_port: str = "29500",
    master_addr: str = "127.0.0.1",
    node_rank: int = 0,
    num_nodes: int = 1,
    rdzv_backend: str = "static",
    rdzv_endpoint: str = "",
    rdzv_conf: dict[str, Any] | None = None,
    rdzv_id: str = "none",
    max_restarts: int = 0,
    monitor_interval: float = 0.1,
    log_line_prefix_template: str | None = None,
) -> None:
    """Call `function(*args)` in this process, as `accelerate launch` would run a script: on the best device here.

    The environment is what it was when the call returns or raises.

    Args:
        function: The training function; it makes its own `Accelerator`.
        args: What it is called with.
        num_processes: None or 1.
        mixed_precision: `"fp16"` or `"bf16"`; `"no"` leaves the choice to the environment and the `Accelerator`.
        use_port: For several processes.
        master_addr: For several machines.
        node_rank: For several machines.
        num_nodes: 1.
        rdzv_backend: For several machines.
        rdzv_endpoint: For several machines.
        rdzv_conf: For several machines.
        rdzv_id: For several machines.
        max_restarts: For several processes.
        monitor_interval: For several processes.
        log_line_prefix_template: For several processes.

    Raises:
        ConfigError: An argument with a value that is not allowed.
        LaunchError: Several processes or machines, which this version does not start.
    """
    if mixed_precision not in PrecisionType:
        allowed = ", ".join(PrecisionType.list())
        raise ConfigError(f"mixed_precision is {mixed_precision!r}.", f"It must be one of {allowed}.")
    _refuse_several("num_processes", 1 if num_processes is None else num_processes)
    _refuse_several("num_nodes", num_nodes)
    wanted = {} if mixed_precision == "no" else {"ACCELERATE_MIXED_PRECISION": mixed_precision}
    with environment.patch(**wanted):
        function(*args)


def debug_launcher(function: Callable[..., Any], args: Sequence[Any] = (), num_processes: int = 2) -> None:
    """Call `function(*args)` in several processes on the CPU, to find errors that only those show.

    Args:
        function: The training function.
        args: What it is called with.
        num_processes: How many processes; 1 calls it in this process on the CPU.

    Raises:
        LaunchError: Several processes, which this version does not start.
    """
    _refuse_several("num_processes", num_processes)
    with environment.patch(ACCELERATE_USE_CPU="true"):
        function(*args)


def _refuse_several(name: str, count: int) -> None:
    if count < 1:
        raise ConfigError(f"{name} is {count}.", "It must be 1.")
    if count > 1:
        raise LaunchError(f"{name} is {count}.", "This version runs one process.", f"Set {name} to 1.")
