from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.settings.knob import FALSE, TRUE, Knob, knob, knobs_of, spellings


def make(kind: type, **more: object) -> Knob:
    return dataclasses.replace(Knob(kind=kind, default=None, help="h", group="g"), **more)  # pyrefly: ignore


@pytest.mark.parametrize("word", sorted(TRUE | FALSE))
def test_truth_words_in_any_case(word: str) -> None:
    switch = make(bool)
    assert switch.parse(word, "x") is (word in TRUE)
    assert switch.parse(f" {word.upper()} ", "x") is (word in TRUE)


@pytest.mark.parametrize("value", [True, False, 1, 0])
def test_yaml_truth_values(value: object) -> None:
    assert make(bool).parse(value, "x") is bool(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (bool, "maybe"),
        (bool, 2),
        (bool, []),
        (int, "two"),
        (int, 1.5),
        (int, True),
        (int, [1]),
        (int, ""),
        (float, "fast"),
        (float, False),
        (str, True),
        (str, {"a": 1}),
    ],
)
def test_wrong_types_name_the_place_and_the_value(kind: type, value: object) -> None:
    with pytest.raises(ConfigError, match=r"^num_things in file\.yaml is ") as caught:
        make(kind).parse(value, "num_things in file.yaml")
    assert repr(value) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [(int, "3", 3), (int, 3, 3), (float, "0.5", 0.5), (float, 2, 2.0), (str, 7, "7"), (str, "a b", "a b")],
)
def test_right_types(kind: type, value: object, result: object) -> None:
    assert make(kind).parse(value, "x") == result


def test_none_is_the_default() -> None:
    assert make(int, default=5).parse(None, "x") == 5


def test_least() -> None:
    count = make(int, least=1)
    assert count.parse("1", "x") == 1
    with pytest.raises(ConfigError, match="1 or more"):
        count.parse("0", "x")


def test_choices_ignore_case_and_understand_the_no_of_yaml() -> None:
    one = make(str, choices=("no", "bf16"))
    assert one.parse("BF16", "x") == "bf16"
    assert one.parse(False, "x") == "no"
    with pytest.raises(ConfigError, match="one of: no, bf16"):
        one.parse("bf61", "x")
    with pytest.raises(ConfigError):
        one.parse(True, "x")
    with pytest.raises(ConfigError):
        make(str, choices=("a",)).parse(False, "x")


@given(st.one_of(st.booleans(), st.integers(), st.text()))
def test_text_is_read_back_as_the_same_value(value: bool | int | str) -> None:
    one = make(type(value))
    assert one.parse(one.text(value), "x") == value


def test_capitals() -> None:
    one = make(str, choices=("no", "inductor"), capitals=True)
    assert one.text("inductor") == "INDUCTOR"
    assert one.parse("INDUCTOR", "x") == "inductor"


def test_both_spellings() -> None:
    assert spellings("num_processes") == ("--num_processes", "--num-processes")
    assert spellings("cpu") == ("--cpu",)
    assert spellings("") == ()
    assert make(str, flag="tee", short="-t").flags == ("--tee", "-t")


def test_a_field_without_a_declaration_is_refused() -> None:
    @dataclasses.dataclass(frozen=True)
    class Section:
        good: int = knob(1, help="h", group="g")
        bad: int = 2

    with pytest.raises(TypeError, match=r"Section\.bad"):
        knobs_of(Section, "section")
