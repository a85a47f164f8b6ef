from __future__ import annotations

import os

import pytest

from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.settings.sections import knobs
from accelerate.settings.sources import Kind


def test_read_takes_variables_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    monkeypatch.setenv("ACCELERATE_DYNAMO_BACKEND", "INDUCTOR")
    resolved = environment.read({"device.cpu": True, "precision.mixed_precision": None})
    assert resolved.settings.precision.mixed_precision == "bf16"
    assert resolved.settings.compile.backend == "inductor"
    assert resolved.settings.device.cpu
    assert resolved.provenance["precision.mixed_precision"].kind is Kind.ENV
    assert resolved.provenance["precision.mixed_precision"].detail == "ACCELERATE_MIXED_PRECISION"
    assert resolved.provenance["device.cpu"].kind is Kind.KWARG


def test_what_a_launcher_writes_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in knobs():
        if one.env and one.default is not None:
            value = {bool: True, int: 7}.get(one.kind, one.choices[-1] if one.choices else "x")
            monkeypatch.setenv(one.env, one.text(value))
            resolved = environment.read()
            section, field = one.name.split(".")
            assert getattr(getattr(resolved.settings, section), field) == value


@pytest.mark.parametrize(
    ("text", "result"),
    [("1", True), ("TRUE", True), ("on", True), ("yes", True), ("0", False), ("off", False), ("No", False)],
)
def test_flag(monkeypatch: pytest.MonkeyPatch, text: str, result: bool) -> None:
    monkeypatch.setenv("SOME_SWITCH", text)
    assert environment.flag("SOME_SWITCH", default=not result) is result


def test_flag_unset_empty_and_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_SWITCH", raising=False)
    assert environment.flag("SOME_SWITCH", default=True)
    monkeypatch.setenv("SOME_SWITCH", "")
    assert not environment.flag("SOME_SWITCH")
    monkeypatch.setenv("SOME_SWITCH", "maybe")
    with pytest.raises(ConfigError, match="SOME_SWITCH is 'maybe'"):
        environment.flag("SOME_SWITCH")


def test_patch_puts_everything_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "before")
    monkeypatch.delenv("ADDED", raising=False)

    def fail_inside() -> None:
        with environment.patch(kept="inside", added=1):
            assert (os.environ["KEPT"], os.environ["ADDED"]) == ("inside", "1")
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert os.environ["KEPT"] == "before"
    assert "ADDED" not in os.environ
    with environment.patch(KEPT=None):
        assert "KEPT" not in os.environ
    assert environment.get("KEPT") == "before"


def test_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "before")
    before = dict(os.environ)
    with environment.cleared():
        assert not os.environ
        os.environ["NEW"] = "1"
    assert dict(os.environ) == before


def test_update_and_remove() -> None:
    with environment.patch(MINE_A=None, MINE_B=None):
        environment.update({"MINE_A": 1, "MINE_B": "x"})
        assert (environment.get("MINE_A"), environment.get("MINE_B")) == ("1", "x")
        environment.update({"MINE_A": None})
        assert environment.get("MINE_A", "gone") == "gone"
        environment.remove("MINE_")
        assert "MINE_B" not in environment.variables


def test_the_view_is_live_and_read_only() -> None:
    with environment.patch(LIVE="yes"):
        assert environment.variables["LIVE"] == "yes"
    with pytest.raises(TypeError):
        environment.variables["LIVE"] = "no"  # pyrefly: ignore
