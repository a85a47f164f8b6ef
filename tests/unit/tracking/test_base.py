from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.tracking import GeneralTracker, on_main_process
from accelerate.tracking.base import flat, library, number, plain, skipped


class Mine(GeneralTracker):
    """A tracker of a script's own, whose object exists only later."""

    name = "mine"
    requires_logging_directory = False

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Any] = []

    @property
    def tracker(self) -> Any:
        raise AttributeError("not started")

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Keep a row."""
        self.rows.append((values, step, kwargs))


class Everywhere(Mine):
    """One that logs in every process."""

    main_process_only = False


@pytest.mark.parametrize(("rank", "rows"), [("0", 1), ("1", 0)])
def test_only_the_main_process_logs(monkeypatch: pytest.MonkeyPatch, rank: str, rows: int) -> None:
    for name, value in {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    mine, everywhere = Mine(), Everywhere()
    mine.log({"x": 1}, step=2, commit=True)
    everywhere.log({"x": 1})
    assert len(mine.rows) == rows
    assert len(everywhere.rows) == 1


def test_what_a_tracker_lacks_is_named() -> None:
    class Empty(GeneralTracker):
        pass

    with pytest.raises(NotImplementedError, match="Empty lacks name, requires_logging_directory, tracker"):
        Empty()


def test_a_blank_tracker_does_nothing() -> None:
    blank = GeneralTracker(_blank=True)
    blank.start()
    blank.store_init_configuration({})
    blank.log({"x": 1}, step=1)
    blank.finish()
    assert vars(blank) == {}


def test_a_library_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"needs the package nosuchlib.*`pip install nosuchlib`"):
        library("nosuchlib")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (2.5, 2.5),
        (True, True),
        (np.float32(2.5), 2.5),
        (np.int64(3), 3),
        (np.array(4), 4),
        (torch.tensor(1.5), 1.5),
        (torch.tensor(1.5, requires_grad=True), 1.5),
        (torch.ones(2), None),
        (np.ones(1), None),
        ("1", None),
        (None, None),
        ([1], None),
        (torch.tensor(1j), None),
    ],
    ids=repr,
)
def test_numbers_are_found(value: object, expected: float | None) -> None:
    assert number(value) == expected
    assert type(number(value)) is type(expected)


nested = st.recursive(
    st.integers() | st.text() | st.none() | st.lists(st.integers(), max_size=2),
    lambda children: st.dictionaries(st.text(st.characters(exclude_characters="/"), min_size=1), children, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_characters="/"), min_size=1), nested, max_size=4))
def test_flattening_keeps_every_value(values: dict[str, Any]) -> None:
    for name, value in flat(values):
        found: Any = values
        for part in name.split("/"):
            found = found[part]
        assert found == value
        assert value == {} or not isinstance(value, dict)
    leaves = sum(1 for _ in flat(values))
    assert leaves == _leaves(values) - (0 if values else 1)


def _leaves(value: object) -> int:
    return sum(_leaves(item) for item in value.values()) if isinstance(value, dict) and value else 1


def test_a_plain_copy_holds_only_plain_values() -> None:
    values = {1: torch.tensor(2), "a": (np.float64(1.5), {"b": {3}}), "n": None, "p": torch.float32}
    assert plain(values) == {"1": 2, "a": [1.5, {"b": "{3}"}], "n": None, "p": "torch.float32"}


def test_what_is_not_recorded_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        skipped(Mine(), "a name of this test", [1])
        skipped(Mine(), "a name of this test", [2])
    assert [record.message for record in caplog.records] == [
        "mine does not record 'a name of this test': it takes numbers, not list."
    ]
