"""Single files, written once per run however many processes there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerate.checkpoint import files, weights
from accelerate.runtime import current

if TYPE_CHECKING:
    from os import PathLike


def save(obj: Any, f: str | PathLike[str], save_on_each_node: bool = False, safe_serialization: bool = False) -> None:
    """Write `obj` to the file `f`, on the main process only.

    Args:
        obj: Anything that `torch.save` takes; a dictionary of tensors for safetensors.
        f: Path of the file.
        save_on_each_node: Whether the first process of every machine writes.
        safe_serialization: Whether the format is safetensors.

    Raises:
        CheckpointError: It cannot be written.
    """
    topology = current().topology
    if topology.local_main if save_on_each_node else topology.main:
        weights.save(obj, Path(f), safe=safe_serialization)


def load(f: str | PathLike[str], map_location: Any = None, **kwargs: Any) -> Any:
    """Return what the file `f` holds; only data is read from it, no code.

    Args:
        f: Path of a file that `save` or `torch.save` has written.
        map_location: Where tensors go; None means the CPU.
        kwargs: Further arguments of `torch.load`.

    Raises:
        CheckpointError: The file is missing, damaged, or holds more than data.
    """
    return files.read(Path(f), {"map_location": "cpu" if map_location is None else map_location, **kwargs})
