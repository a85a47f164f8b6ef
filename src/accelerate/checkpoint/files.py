"""Single files of a checkpoint in torch's format: written and, with torch's safe unpickler, read."""

from __future__ import annotations

import datetime
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from accelerate.errors import CheckpointError

_UNSAFE_MARK = "Weights only load failed"


def _safe_types() -> list[Any]:
    """Return what may be unpickled besides tensors and plain Python values: types that only hold data."""
    rebuilt: dict[str, Any] = {"_reconstruct": np.zeros(0).__reduce__()[0], "scalar": np.float64(0).__reduce__()[0]}
    numpy_functions = [
        (function, f"numpy.{core}.multiarray.{name}")  # the module moved between numpy 1 and 2
        for core in ("core", "_core")
        for name, function in rebuilt.items()
    ]
    numpy_types = [np.ndarray, np.dtype, *{type(np.dtype(code)) for code in np.typecodes["All"]}]
    plain = [set, frozenset, complex, bytes, bytearray, slice]
    dates = [datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone]
    return [*numpy_functions, *numpy_types, *plain, *dates]


def write(path: Path, value: object) -> None:
    """Write `value` to the file `path`.

    Raises:
        CheckpointError: It cannot be pickled, or the file cannot be written.
    """
    try:
        torch.save(value, path)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise CheckpointError(
            f"Cannot save {path.name}: {_one_line(error)}.",
            "Its state must be picklable.",
            "Leave functions, handles and locks out of state_dict().",
        ) from error
    except RuntimeError as error:
        raise CheckpointError(
            f"Cannot write {path.name}: {_one_line(error)}.", fix="Check the free space and the permissions."
        ) from error


def read(path: Path, options: Mapping[str, Any] | None = None) -> Any:
    """Return what the file `path` holds, tensors on the CPU.

    Args:
        path: A file written by `write` or `torch.save`.
        options: Keywords for `torch.load`. Only data is read unless `weights_only` is False here, which runs
            whatever code the file brings.

    Raises:
        CheckpointError: The file is missing, damaged, or holds more than data.
    """
    if not path.is_file():
        raise CheckpointError(
            f"The file {path.name} is missing from {path.parent}.",
            "The checkpoint is incomplete, or was saved without this part.",
            "Load another checkpoint, or prepare the same objects as when it was saved.",
        )
    keywords: dict[str, Any] = {"map_location": "cpu", "weights_only": True, **(options or {})}
    try:
        with torch.serialization.safe_globals(_safe_types()):
            return torch.load(path, **keywords)
    except Exception as error:  # a damaged pickle can raise anything
        raise _refusal(path, error) from error


def _refusal(path: Path, error: Exception) -> CheckpointError:
    if _UNSAFE_MARK not in str(error) or not zipfile.is_zipfile(path):
        return CheckpointError(
            f"The file {path} is damaged: {_one_line(error)}.",
            "It was cut off, changed, or is no checkpoint file.",
            "Load another checkpoint.",
        )
    names = unsafe_names(path)
    if not names:
        return CheckpointError(
            f"The file {path} holds a value that cannot be rebuilt safely.",
            "Only plain values, tensors and numpy arrays are loaded, as other types can run code.",
            "Let state_dict() return lists and dicts of such values.",
        )
    trust = f"torch.serialization.add_safe_globals([{names[0].rpartition('.')[2]}])"
    return CheckpointError(
        f"The file {path} holds {', '.join(names)}.",
        "Only plain values, tensors and numpy arrays are loaded, as other types can run code.",
        f"Let state_dict() return such values, or call {trust} if you trust the file.",
    )


def unsafe_names(path: Path) -> list[str]:
    """Return the full names of the types in the file that `read` refuses; empty also for a file it cannot look into."""
    try:
        with torch.serialization.safe_globals(_safe_types()):
            return sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    except Exception:  # as in `read`
        return []


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    if not lines or _UNSAFE_MARK in lines[0]:
        return type(error).__name__
    return lines[0].split(". ")[0].rstrip(".")
