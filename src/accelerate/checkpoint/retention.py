"""Automatically named checkpoints: their numbers, which one is newest, and which ones to keep."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from accelerate.checkpoint import layout
from accelerate.errors import CheckpointError, ConfigError
from accelerate.log import topic

_DELETING = ".deleting"


@dataclass(frozen=True, order=True, slots=True)
class Numbered:
    """One automatically named checkpoint."""

    number: int
    path: Path


def existing(project: Path) -> list[Numbered]:
    """Return the automatically named checkpoints of a project, oldest (lowest number) first."""
    folder = project / layout.CHECKPOINTS
    if not folder.is_dir():
        return []
    found = ((layout.number_of(path.name), path) for path in folder.iterdir() if path.is_dir())
    return sorted(Numbered(number, path) for number, path in found if number is not None)


def newest(project: Path) -> Numbered:
    """Return the checkpoint with the highest number.

    Raises:
        CheckpointError: There is none.
    """
    every = existing(project)
    if not every:
        raise CheckpointError(
            f"There is no checkpoint in {project / layout.CHECKPOINTS}.",
            "Without a path, the newest checkpoint_<n> there is loaded.",
            "Give the path of a checkpoint, or another project_dir.",
        )
    return every[-1]


def next_folder(project: Path, number: int) -> Path:
    """Return where checkpoint `number` goes.

    Raises:
        ConfigError: It is there already: a second run would overwrite the checkpoints of the first.
    """
    folder = project / layout.CHECKPOINTS / layout.numbered(number)
    if folder.exists():
        raise ConfigError(
            f"The checkpoint {folder} exists already.",
            "Automatic naming never overwrites.",
            "Resume with load_state(), or set ProjectConfiguration(iteration=...), or use another project_dir.",
        )
    return folder


def prune(project: Path, limit: int | None, keep: Path) -> list[Path]:
    """Delete the oldest checkpoints until `limit` are left, and return their paths. Call it after a save is done.

    Args:
        project: Folder of the project.
        limit: How many to keep; None keeps all.
        keep: The checkpoint just written, which is never deleted, whatever its number.
    """
    if limit is None:
        return []
    others = [checkpoint.path for checkpoint in existing(project) if checkpoint.path != keep]
    deleted = others[: max(0, len(others) + 1 - max(limit, 1))]
    for path in deleted:
        # Renamed first, so that a crash leaves no half-empty folder with a checkpoint's name.
        path.rename(path.with_name(f".{path.name}{_DELETING}"))
    for leftover in (project / layout.CHECKPOINTS).glob(f".*{_DELETING}"):
        shutil.rmtree(leftover)
    if deleted:
        topic("checkpoint").info("total_limit is %s: deleted %s", limit, ", ".join(path.name for path in deleted))
    return deleted
