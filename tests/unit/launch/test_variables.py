"""Helpers for environment variables."""

from __future__ import annotations

import logging
import os

import pytest

from accelerate.errors import ConfigError
from accelerate.launch import variables


@pytest.mark.parametrize("text", ["y", "yes", "t", "true", "on", "1", "True", "YES"])
def test_true(text: str) -> None:
    assert variables.str_to_bool(text) == 1
    assert variables.str_to_bool(text, to_bool=True) is True


@pytest.mark.parametrize("text", ["n", "no", "f", "false", "off", "0", "False", "NO"])
def test_false(text: str) -> None:
    assert variables.str_to_bool(text) == 0
    assert variables.str_to_bool(text, to_bool=True) is False


@pytest.mark.parametrize("text", ["", "maybe", "2"])
def test_no_truth_value(text: str) -> None:
    with pytest.raises(ValueError, match="no truth value"):
        variables.str_to_bool(text)


def test_flags_and_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_FLAG", "yes")
    assert variables.parse_flag_from_env("A_FLAG")
    assert variables.parse_flag_from_env("NOT_SET", default=True)
    assert variables.parse_choice_from_env("A_FLAG") == "yes"
    assert variables.parse_choice_from_env("NOT_SET") == "no"


def test_the_first_number_from_zero_on_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEGATIVE", "-1")
    monkeypatch.setenv("TWELVE", "12")
    assert variables.get_int_from_env(["NOT_SET", "NEGATIVE", "TWELVE"], 3) == 12
    assert variables.get_int_from_env(["NOT_SET", "NEGATIVE"], 3) == 3


def test_a_variable_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWELVE", "twelve")
    with pytest.raises(ConfigError, match="TWELVE is 'twelve'"):
        variables.get_int_from_env(["TWELVE"], 3)


def test_our_variables_do_not_outlive_a_purged_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_BEFORE", "old")
    monkeypatch.setenv("OTHER_VARIABLE", "old")

    @variables.purge_accelerate_environment
    def changes(value: str) -> str:
        os.environ["ACCELERATE_NEW"] = os.environ["ACCELERATE_BEFORE"] = os.environ["OTHER_VARIABLE"] = value
        return value

    assert changes("new") == "new"
    assert "ACCELERATE_NEW" not in os.environ
    assert os.environ["ACCELERATE_BEFORE"] == "old"
    assert os.environ["OTHER_VARIABLE"] == "new"


def test_purging_reaches_the_methods_of_a_class() -> None:
    @variables.purge_accelerate_environment
    class Changes:
        def change(self) -> None:
            os.environ["ACCELERATE_NEW"] = "new"
            raise KeyError

    with pytest.raises(KeyError):
        Changes().change()
    assert "ACCELERATE_NEW" not in os.environ


def test_only_what_a_shell_reads_safely_is_written(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="accelerate"):
        lines = variables.convert_dict_to_env_variables(
            {"A": "1", "b": "x", "bad;": "1", "c": "a;b", "d": "has space", "e": "a\nb", "f": ""}
        )
    assert lines == ["A=1\n", "b=x\n"]
    assert len(caplog.records) == 5
