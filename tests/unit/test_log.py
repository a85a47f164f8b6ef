from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accelerate import log


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    one = logging.getLogger("tests.log")
    yield one
    one.handlers.clear()
    one.setLevel(logging.NOTSET)
    log.attach(log.Speaker())


def _say(adapter: log.MultiProcessAdapter, rank: int, **kwargs: Any) -> None:
    log.attach(log.Speaker(rank=rank, local_rank=rank, world=2))
    adapter.warning("from %d", rank, **kwargs)


def test_only_the_main_process_speaks_unless_told_otherwise(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = log.MultiProcessAdapter(logger, {})
    for rank in (0, 1):
        _say(adapter, rank)
        _say(adapter, rank, main_process_only=False)
    assert [record.getMessage() for record in caplog.records] == ["from 0", "from 0", "from 1"]


def test_processes_speak_in_order_with_a_barrier_after_each(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[int] = []
    log.attach(log.Speaker(rank=1, local_rank=1, world=3, barrier=lambda: waits.append(len(caplog.records))))
    log.MultiProcessAdapter(logger, {}).warning("x", main_process_only=False, in_order=True)
    assert waits == [0, 1, 1]


def test_records_name_the_line_that_logged(logger: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    log.MultiProcessAdapter(logger, {}).warning("x")
    assert caplog.records[0].funcName == "test_records_name_the_line_that_logged"


def test_a_warning_is_given_once(logger: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    adapter = log.MultiProcessAdapter(logger, {})
    for text in ("a", "a", "b"):
        adapter.warning_once(text)
    assert [record.getMessage() for record in caplog.records] == ["a", "b"]


def test_records_are_shown_without_any_configuration(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    log.show(logger, "info")
    log.show(logger, "info")
    logger.info("hello")
    logger.debug("hidden")
    assert capsys.readouterr().err == "INFO:tests.log:hello\n"


def test_a_program_that_configures_logging_later_sees_each_record_once(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    log.show(logger, "info")
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    logger.info("hello")
    assert capsys.readouterr().err == "hello\n"


def test_the_packages_own_warnings_come_once_and_from_the_local_main_process(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    log.warn_once.cache_clear()
    log.attach(log.Speaker(rank=3, local_rank=1, world=4))
    log.warn_once("devices", "not here")
    log.attach(log.Speaker())
    log.warn_once("devices", "here")
    log.warn_once("devices", "here")
    assert [(record.name, record.getMessage()) for record in caplog.records] == [("accelerate.devices", "here")]
