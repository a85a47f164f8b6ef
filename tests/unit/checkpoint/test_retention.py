from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.checkpoint import retention
from accelerate.errors import CheckpointError, ConfigError


def make(project: Path, *numbers: int) -> None:
    for number in numbers:
        folder = project / "checkpoints" / f"checkpoint_{number}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text("")


def left(project: Path) -> list[int]:
    return [checkpoint.number for checkpoint in retention.existing(project)]


def test_order_is_by_number(tmp_path: Path) -> None:
    make(tmp_path, 10, 9, 2, 1)
    (tmp_path / "checkpoints" / ".checkpoint_11.writing").mkdir()
    (tmp_path / "checkpoints" / "checkpoint_12").write_text("a file")
    (tmp_path / "checkpoints" / "best").mkdir()
    assert left(tmp_path) == [1, 2, 9, 10]
    assert retention.newest(tmp_path).number == 10


def test_no_checkpoint_is_said(tmp_path: Path) -> None:
    assert retention.existing(tmp_path) == []
    with pytest.raises(CheckpointError, match=r"There is no checkpoint in .*checkpoints"):
        retention.newest(tmp_path)


def test_a_number_is_not_used_twice(tmp_path: Path) -> None:
    make(tmp_path, 0)
    with pytest.raises(ConfigError, match=r"checkpoint_0 exists already\..*load_state\(\)"):
        retention.next_folder(tmp_path, 0)
    assert retention.next_folder(tmp_path, 1).name == "checkpoint_1"


@given(
    numbers=st.sets(st.integers(0, 200), min_size=1, max_size=12), limit=st.none() | st.integers(0, 6), data=st.data()
)
def test_the_newest_and_the_one_just_written_stay(
    tmp_path_factory: pytest.TempPathFactory, numbers: set[int], limit: int | None, data: st.DataObject
) -> None:
    project = tmp_path_factory.mktemp("project")
    make(project, *numbers)
    keep = data.draw(st.sampled_from(sorted(numbers)))
    folder = project / "checkpoints" / f"checkpoint_{keep}"
    deleted = retention.prune(project, limit, folder)
    expected = len(numbers) if limit is None else min(len(numbers), max(limit, 1))
    assert len(left(project)) == expected
    assert keep in left(project)
    assert not any(path.exists() for path in deleted)
    others_left = [number for number in left(project) if number != keep]
    assert others_left == sorted(numbers - {keep})[len(numbers) - expected :]
    assert not list((project / "checkpoints").glob(".*"))


def test_a_deletion_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    make(tmp_path, 1, 2)
    half = tmp_path / "checkpoints" / ".checkpoint_0.deleting"
    half.mkdir()
    retention.prune(tmp_path, 2, tmp_path / "checkpoints" / "checkpoint_2")
    assert not half.exists()
    assert left(tmp_path) == [1, 2]
