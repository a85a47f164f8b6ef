from __future__ import annotations

import collections
import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from accelerate.checkpoint import files
from accelerate.errors import CheckpointError

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {1, 2},
        frozenset([1]),
        1j,
        b"bytes",
        b"",
        bytearray(b"bytes"),
        slice(1, 2),
        NOW,
        NOW.date(),
        datetime.timedelta(1),
        collections.OrderedDict(a=1),
        collections.Counter("aab"),
        torch.Size([1]),
        torch.bfloat16,
        np.float64(0.5),
        np.bool_(True),
        np.int8(3),
        np.datetime64("2026-01-02"),
    ],
    ids=repr,
)
def test_plain_values_come_back(tmp_path: Path, value: object) -> None:
    files.write(tmp_path / "f", {"value": value})
    found = files.read(tmp_path / "f")["value"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3),
        np.arange(3, dtype=np.float16),
        np.asfortranarray(np.ones((2, 3))),
        np.array(["a", "b"]),
        np.array([1, None], dtype=object),
        np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
        np.zeros(0),
        np.zeros(()),
    ],
    ids=repr,
)
def test_arrays_come_back(tmp_path: Path, array: Any) -> None:
    files.write(tmp_path / "f", [array])
    (found,) = files.read(tmp_path / "f")
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


class Evil:
    """Runs code when unpickled without care."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("was-here",)


class Meter:
    """A type that a script defines."""


def test_code_in_a_file_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files.write(tmp_path / "f", Evil())
    with pytest.raises(CheckpointError, match="mkdir"):
        files.read(tmp_path / "f")
    assert not (tmp_path / "was-here").exists()


def test_a_type_that_is_not_data_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "f"
    files.write(path, {"a": Meter()})
    (name,) = files.unsafe_names(path)
    assert name.endswith(".Meter")
    with pytest.raises(CheckpointError) as caught:
        files.read(path)
    assert name in str(caught.value)
    assert "add_safe_globals([Meter])" in str(caught.value)
    assert "\n" not in str(caught.value)
    with torch.serialization.safe_globals([Meter]):
        assert isinstance(files.read(path)["a"], Meter)
    assert isinstance(files.read(path, {"weights_only": False})["a"], Meter)


def test_reading_leaves_torchs_own_list_alone(tmp_path: Path) -> None:
    before = set(torch.serialization.get_safe_globals())
    files.write(tmp_path / "f", {1})
    files.read(tmp_path / "f")
    assert set(torch.serialization.get_safe_globals()) == before


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_named(tmp_path: Path, part: float) -> None:
    path = tmp_path / "optimizer.bin"
    files.write(path, torch.arange(1000))
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    with pytest.raises(CheckpointError, match=r"optimizer\.bin is damaged") as caught:
        files.read(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("some text\n" * 100)
    with pytest.raises(CheckpointError, match="f is damaged"):
        files.read(tmp_path / "f")
    assert files.unsafe_names(tmp_path / "f") == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"scheduler\.bin is missing from"):
        files.read(tmp_path / "scheduler.bin")


def test_what_cannot_be_pickled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"Cannot save custom_checkpoint_0\.pkl: .*lambda"):
        files.write(tmp_path / "custom_checkpoint_0.pkl", {"f": lambda: 1})


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"Cannot write scaler\.pt"):
        files.write(tmp_path / "nowhere" / "scaler.pt", 1)
