from __future__ import annotations

import io

import pytest

from accelerate.cli import ui
from accelerate.errors import ConfigError
from accelerate.settings.sections import knob_named


def number(answer: str) -> object:
    return knob_named("training.gradient_accumulation_steps").parse(answer, "The answer")


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_without_a_terminal_questions_are_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch, "BF16\n\nyes\n")
    assert ui.choose("Which?", ("no", "bf16"), "no") == "bf16"
    assert ui.choose("Which?", ("no", "bf16"), "no") == "no"
    assert ui.confirm("Sure?", default=False) is True
    out = capsys.readouterr().out
    assert out == "Which? (no/bf16) [no]: BF16\nWhich? (no/bf16) [no]: no\nSure? (yes/no) [no]: yes\n"


def test_a_wrong_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    type_in(monkeypatch, "bf17\nbf16\nperhaps\nn\nmany\n0\n4\n")
    assert ui.choose("Which?", ("no", "bf16"), "no") == "bf16"
    assert ui.confirm("Sure?", default=True) is False
    assert ui.ask("How many?", "1", number) == 4
    out = capsys.readouterr().out
    assert "The answer is 'bf17'. It must be one of: no, bf16." in out
    assert "The answer is 'perhaps'. It must be yes or no." in out
    assert out.count("How many? [1]:") == 3


def test_the_end_of_the_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "bf17\n")
    with pytest.raises(ConfigError, match="input ended before all questions"):
        ui.choose("Which?", ("no", "bf16"), "no")


@pytest.mark.parametrize(
    ("stdin", "stdout", "term", "expected"),
    [
        (True, True, "xterm-256color", True),
        (False, True, "xterm-256color", False),
        (True, False, "xterm-256color", False),
        (True, True, "dumb", False),
        (True, True, None, False),
    ],
)
def test_arrow_keys_need_a_terminal_that_moves_its_cursor(
    stdin: bool, stdout: bool, term: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: stdin, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: stdout, raising=False)
    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    assert ui.interactive() is expected


def test_a_table_is_not_cut_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    ui.table(("Key", "Meaning"), [("a", "long " * 60 + "end"), ("b", "[not] markup")])
    lines = capsys.readouterr().out.splitlines()
    assert any("long " * 60 + "end" in line for line in lines)
    assert any("[not] markup" in line for line in lines)
