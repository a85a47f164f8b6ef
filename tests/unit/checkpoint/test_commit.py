from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accelerate.checkpoint.commit import Writer, finish, staged, write_file
from accelerate.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable


class Crash(BaseException):
    """The machine stops: nothing after this happens, not even cleaning up."""


def ours(name: str) -> bool:
    return name.endswith(".bin")


def put(folder: Path, **values: str) -> None:
    with staged(folder, replaces=ours) as staging:
        for name, text in values.items():
            (staging / f"{name}.bin").write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    put(folder, x="1")
    assert contents(folder) == {"x.bin": "1"}
    assert [path.name for path in folder.parent.iterdir()] == ["b"]


def test_new_files_take_the_place_of_old_ones_and_the_users_stay(tmp_path: Path) -> None:
    put(tmp_path, x="1", old="1")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "logs").mkdir()
    with (tmp_path / "log.txt").open("w") as open_file:
        put(tmp_path, x="2")
        open_file.write("still open")
    assert contents(tmp_path) == {"x.bin": "2", "notes.txt": "mine", "log.txt": "still open"}
    assert (tmp_path / "logs").is_dir()
    assert not list(tmp_path.glob(".*"))


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    put(tmp_path, x="1")

    def fail() -> None:
        with staged(tmp_path, replaces=ours) as staging:
            (staging / "x.bin").write_text("2")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert contents(tmp_path) == {"x.bin": "1"}
    assert not list(tmp_path.glob(".*"))


def test_an_error_leaves_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyError), staged(tmp_path / "new", replaces=ours):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_the_working_directory_can_be_saved_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(Path(), x="1")
    assert contents(Path.cwd()) == {"x.bin": "1"}


def crashing_after(calls: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make functions that together crash in place of call number `calls`."""
    left = [calls]

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if left[0] <= 0:
                raise Crash
            left[0] -= 1
            return function(*args, **kwargs)

        return wrapped

    return wrap


@pytest.mark.parametrize("existing", [True, False])
def test_a_crash_at_any_step_leaves_the_old_or_the_new(tmp_path: Path, existing: bool) -> None:
    old, new = {"x.bin": "1", "gone.bin": "1"}, {"x.bin": "2", "y.bin": "2"}
    outcomes = set()
    for calls in range(60):
        folder = tmp_path / str(calls)
        if existing:
            put(folder, x="1", gone="1")
        crash = crashing_after(calls)
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in (
                (os, "fsync"),
                (os, "rename"),
                (os, "replace"),
                (os, "unlink"),
                (os, "rmdir"),
                (os, "mkdir"),
            ):
                patch.setattr(owner, name, crash(getattr(owner, name)))
            for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "write_text"):
                patch.setattr(Path, name, crash(getattr(Path, name)))
            patch.setattr(shutil, "rmtree", crash(shutil.rmtree))
            with contextlib.suppress(Crash):
                put(folder, x="2", y="2")
                outcomes.add("done")
        if folder.exists():
            finish(folder)
            assert contents(folder) in (old, new)
            outcomes.add("new" if contents(folder) == new else "old")
        else:
            assert not existing
            outcomes.add("none")
        put(folder, x="2", y="2")
        assert contents(folder) == new
        if "done" in outcomes:
            break
    assert outcomes == {"done", "new", "old" if existing else "none"}


def test_a_save_that_is_final_is_completed(tmp_path: Path) -> None:
    put(tmp_path, x="1", gone="1")
    (tmp_path / ".writing").mkdir()
    (tmp_path / ".writing" / "x.bin").write_text("2")
    (tmp_path / ".writing" / "commit.json").write_text(json.dumps({"remove": ["gone.bin"]}))
    finish(tmp_path)
    assert contents(tmp_path) == {"x.bin": "2"}
    assert not list(tmp_path.glob(".*"))


def test_a_record_cannot_delete_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    folder = tmp_path / "folder"
    (folder / ".writing").mkdir(parents=True)
    (folder / ".writing" / "commit.json").write_text(json.dumps({"remove": ["../precious"]}))
    finish(folder)
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match=r"it is a file\. A checkpoint is a folder"):
        put(tmp_path / "file", x="1")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CheckpointError, match=r"Cannot write the checkpoint .*new: Permission denied"):
        put(tmp_path / "new", x="1")
    tmp_path.chmod(0o700)


def test_a_place_that_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match=r"Cannot write the checkpoint .*file/new: Not a directory") as caught:
        put(tmp_path / "file" / "new", x="1")
    assert "\n" not in str(caught.value)


def together(folder: Path, fails: int | None) -> list[BaseException | None]:
    """Save from three threads that stand for three processes; process number `fails` breaks."""
    barrier = threading.Barrier(3)
    votes = [True] * 3
    errors: list[BaseException | None] = [None] * 3

    def run(rank: int) -> None:
        def agree(ok: bool) -> bool:
            votes[rank] = ok
            barrier.wait(10)
            every = all(votes)
            barrier.wait(10)
            return every

        try:
            with staged(folder, replaces=ours, writer=Writer(rank=rank, shared=rank == 0, agree=agree)) as staging:
                if rank == fails:
                    raise KeyError(rank)
                (staging / f"{rank}.bin").write_text("new")
        except (KeyError, CheckpointError) as error:
            errors[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return errors


def test_processes_write_one_checkpoint_together(tmp_path: Path) -> None:
    assert together(tmp_path / "c", fails=None) == [None] * 3
    assert sorted(contents(tmp_path / "c")) == ["0.bin", "1.bin", "2.bin"]


@pytest.mark.parametrize("fails", [0, 2])
def test_one_process_that_fails_stops_all(tmp_path: Path, fails: int) -> None:
    put(tmp_path / "c", x="old")
    errors = together(tmp_path / "c", fails=fails)
    assert [type(error) for error in errors] == [KeyError if rank == fails else CheckpointError for rank in range(3)]
    assert contents(tmp_path / "c") == {"x.bin": "old"}
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["x.bin"]


def test_a_single_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_text("old")

    def half(part: Path) -> None:
        part.write_text("ne")
        raise KeyError

    with pytest.raises(KeyError):
        write_file(path, half)
    assert contents(tmp_path) == {"x.bin": "old"}

    def whole(part: Path) -> None:
        part.write_text("new")

    write_file(path, whole)
    assert contents(tmp_path) == {"x.bin": "new"}
