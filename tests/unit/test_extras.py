"""Small helpers of `accelerate.utils`."""

from __future__ import annotations

import logging
import platform
import socket

import pytest

from accelerate import extras


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (10, "10 bytes"),
        (1024, "1.0 KB"),
        (2048, "2.0 KB"),
        (5 * 1024**3 + 123, "5.0 GB"),
        (1024**5, "1.0 PB"),
        (3e18, "2664.54 PB"),
    ],
)
def test_sizes(size: float, text: str) -> None:
    assert extras.convert_bytes(size) == text


def test_merging_goes_into_nested_dictionaries() -> None:
    destination = {"a": {"d": 3, "b": 0}, "c": 1}
    merged = extras.merge_dicts({"a": {"b": 1}, "c": 2, "e": {"f": 4}}, destination)
    assert merged is destination
    assert merged == {"a": {"d": 3, "b": 1}, "c": 2, "e": {"f": 4}}


def test_dotted_attributes() -> None:
    assert extras.recursive_getattr(logging, "Logger.__name__") == "Logger"


@pytest.mark.parametrize(
    ("thing", "name"), [(extras.convert_bytes, "convert_bytes"), (dict, "dict"), (3, "int"), (print, "print")]
)
def test_names(thing: object, name: str) -> None:
    assert extras.get_pretty_name(thing) == name


def test_ports() -> None:
    with socket.socket() as server:
        server.bind(("localhost", 0))
        server.listen()
        port = server.getsockname()[1]
        assert extras.is_port_in_use(port)
        assert extras.is_port_in_use(str(port))
    assert not extras.is_port_in_use(extras.get_free_port())


@pytest.mark.parametrize(
    ("system", "release", "warns"),
    [
        ("Linux", "4.18.0-513.el8.x86_64", True),
        ("Linux", "5.5.0", False),
        ("Linux", "6.8.0-45-generic", False),
        ("Linux", "strange", False),
        ("Darwin", "4.0", False),
    ],
)
def test_old_kernels(
    system: str, release: str, warns: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "release", lambda: release)
    extras.check_os_kernel()
    assert [release in record.getMessage() for record in caplog.records] == [True] * warns
