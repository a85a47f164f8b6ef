"""Writing a folder so that a crash at any moment leaves the old contents or the new, never a mixture.

A folder that does not exist yet is written beside its place under a hidden name and renamed. One that exists is
never moved, since it may be the working directory, a mount point, or hold a user's open files: its new files are
written into a hidden folder inside it; then a record of what to do makes the save final; then they take their
places one by one. If the machine stops in between, `finish` does the rest when the folder is next read or written.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from accelerate.errors import CheckpointError

_STAGING = ".writing"
_RECORD = "commit.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """This process's part in writing a checkpoint together with others.

    Args:
        rank: Number of this process; files that belong to one process carry it.
        shared: Whether this process writes the files that belong to all. True on one process per folder.
        agree: Takes whether this process's part went well; returns whether everyone's did. Collective: all ranks.
    """

    rank: int = 0
    shared: bool = True
    agree: Callable[[bool], bool] = bool


ALONE = Writer()


@contextlib.contextmanager
def staged(folder: Path, *, replaces: Callable[[str], bool], writer: Writer = ALONE) -> Generator[Path]:
    """Give a folder to write files into; when the block ends well they appear in `folder` all at once.

    When it does not, `folder` stays as it was. Collective: all ranks.

    Args:
        folder: Where the files shall be. Made, with its parents, when it does not exist.
        replaces: Tells by its name whether a file already in `folder` belongs to what the new files take the place
            of, and so goes away. All other files and folders stay.
        writer: This process's part.

    Raises:
        CheckpointError: The folder cannot be written, or another process failed.
    """
    staging = folder / _STAGING if folder.exists() else folder.with_name(f".{folder.name}{_STAGING}")
    with _explained(folder):
        _by_one(writer, lambda: _begin(folder, staging))
        try:
            try:
                yield staging
            except BaseException:
                writer.agree(False)
                raise
            _all_well(writer)
            _by_one(writer, lambda: _commit(folder, staging, replaces))
        finally:
            # A save that is final but not in place yet is left for `finish`.
            if writer.shared and not (staging / _RECORD).exists():
                shutil.rmtree(staging, ignore_errors=True)


def finish(folder: Path, writer: Writer = ALONE) -> None:
    """Complete a save into `folder` that was final but whose files had not all taken their places.

    Does nothing for a folder that needs nothing, which it then does not write to. Collective: all ranks.
    """
    with _explained(folder):
        _by_one(writer, lambda: _finish(folder))


def _begin(folder: Path, staging: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(
            f"Cannot save to {folder}: it is a file.", "A checkpoint is a folder.", "Give another path."
        )
    _finish(folder)
    if staging.exists():
        shutil.rmtree(staging)
    staging.mkdir(parents=True)


def _commit(folder: Path, staging: Path, replaces: Callable[[str], bool]) -> None:
    written = {path.name for path in staging.iterdir()}
    for name in written:
        sync_file(staging / name)
    if staging.parent == folder:
        outdated = [path.name for path in folder.iterdir() if replaces(path.name) and path.name not in written]
        record = staging / f"{_RECORD}.part"
        record.write_text(json.dumps({"remove": sorted(outdated)}), encoding="utf-8")
        sync_file(record)
        _sync_folder(staging)
        record.replace(staging / _RECORD)
        _sync_folder(staging)
        _finish(folder)
    else:
        _sync_folder(staging)
        staging.rename(folder)
        _sync_folder(folder.parent)


def _finish(folder: Path) -> None:
    staging = folder / _STAGING
    record = staging / _RECORD
    if not record.is_file():
        return
    outdated = json.loads(record.read_text(encoding="utf-8"))["remove"]
    for path in list(staging.iterdir()):
        if path != record:
            path.replace(folder / path.name)
    for name in outdated:
        (folder / Path(name).name).unlink(missing_ok=True)
    _sync_folder(folder)
    record.unlink()
    staging.rmdir()


def write_file(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file that then takes the place of `path` at once."""
    part = path.with_name(f".{path.name}{_STAGING}")
    with _explained(path.parent):
        try:
            write(part)
            sync_file(part)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Return when the contents of the file are on the disk itself."""
    with path.open("rb+") as file:
        _sync(file.fileno())


def _sync(handle: int) -> None:
    if sys.platform == "darwin":
        from fcntl import F_FULLFSYNC, fcntl

        # There fsync alone stops at the drive's cache; but not every file system has the full one.
        with contextlib.suppress(OSError):
            fcntl(handle, F_FULLFSYNC)
            return
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    # Some file systems refuse this for folders; the files themselves are safe all the same.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            _sync(handle)
        finally:
            os.close(handle)


def _by_one(writer: Writer, action: Callable[[], None]) -> None:
    """Run `action` on the process that writes for all; every process raises when it failed there."""
    try:
        if writer.shared:
            action()
    except BaseException:
        writer.agree(False)
        raise
    _all_well(writer)


def _all_well(writer: Writer) -> None:
    if not writer.agree(True):
        raise CheckpointError(
            "Another process could not write its part of the checkpoint.",
            "Nothing was changed.",
            "See the error of that process.",
        )


@contextlib.contextmanager
def _explained(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"Cannot write the checkpoint {folder}: {error.strerror or error}.",
            "What was there before is unchanged.",
            "Check the path, its permissions and the free space.",
        ) from error
