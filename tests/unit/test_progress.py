"""Progress bars are shown by one process of a machine."""

from __future__ import annotations

import dataclasses
from io import StringIO

import pytest

from accelerate import progress, runtime
from accelerate.errors import ConfigError
from accelerate.topology import Topology


def test_the_first_process_shows_it() -> None:
    file = StringIO()
    assert list(progress.tqdm(range(3), file=file, desc="work")) == [0, 1, 2]
    assert "work" in file.getvalue()


@pytest.mark.parametrize(("main_process_only", "shown"), [(True, False), (False, True)])
def test_other_processes_show_it_when_told_to(
    main_process_only: bool, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = dataclasses.replace(runtime.current(), topology=Topology(rank=1, world=2, local_rank=1, local_world=2))
    monkeypatch.setattr(progress, "current", lambda: second)
    file = StringIO()
    assert list(progress.tqdm(range(3), main_process_only=main_process_only, file=file)) == [0, 1, 2]
    assert bool(file.getvalue()) is shown


def test_a_user_may_hide_it() -> None:
    file = StringIO()
    list(progress.tqdm(range(3), file=file, disable=True))
    assert not file.getvalue()


def test_the_old_first_argument_is_refused() -> None:
    with pytest.raises(ConfigError, match="main_process_only"):
        progress.tqdm(True, range(3))
