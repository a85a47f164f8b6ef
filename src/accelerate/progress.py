"""Progress bars that one process shows."""

from __future__ import annotations

from typing import Any

from tqdm import auto

from accelerate.errors import ConfigError
from accelerate.runtime import current


def tqdm(*args: Any, main_process_only: bool = True, **kwargs: Any) -> auto.tqdm[Any]:
    """Return a `tqdm.auto.tqdm`, made from the other arguments.

    Args:
        args: Those of tqdm.
        main_process_only: Whether only the first process of each machine shows the bar.
        kwargs: Those of tqdm; `disable` hides the bar on all processes.

    Raises:
        ConfigError: The first argument is a truth value, as an older version of the API took.
    """
    if args and isinstance(args[0], bool):
        raise ConfigError(
            f"The first argument of tqdm is {args[0]}.", "It is the iterable.", "Write main_process_only=... instead."
        )
    if main_process_only and not current().topology.local_main:
        kwargs["disable"] = True
    return auto.tqdm(*args, **kwargs)
