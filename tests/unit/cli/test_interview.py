from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from accelerate.cli.interview import Asked, ask_person, interview
from accelerate.errors import ConfigError
from accelerate.machine.facts import Machine
from accelerate.machine.probe import probe
from accelerate.settings.knob import Value
from accelerate.settings.sections import build, knob_named
from machines import dylib, install_torch, linux, mac


class Scripted:
    """Answers from a list by knob name, else with the default; remembers what it was asked."""

    def __init__(self, answers: Mapping[str, Value] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Value:
        self.asked.append(asked)
        return self.answers.get(asked.knob.name, asked.default)

    @property
    def names(self) -> list[str]:
        return [asked.knob.name for asked in self.asked]

    def offered(self, name: str) -> tuple[str, ...]:
        return next(asked.offered for asked in self.asked if asked.knob.name == name)


@pytest.fixture
def a_mac(tmp_path: Path) -> Machine:
    return probe({}, mac("Apple M2 Max", torch=install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))))


@pytest.fixture
def a_server(tmp_path: Path) -> Machine:
    return probe({}, linux(tmp_path / "root", gpus=0, torch=install_torch(tmp_path, "2.14.1+cpu")))


@pytest.fixture
def a_gpu_server(tmp_path: Path) -> Machine:
    return probe({}, linux(tmp_path / "root", gpus=1, torch=install_torch(tmp_path, cuda="13.0")))


def test_a_mac_is_asked_about_its_gpu(a_mac: Machine) -> None:
    ask = Scripted()
    answers = interview(a_mac, ask)
    assert ask.names == ["device.cpu", "device.mps_fallback", "precision.mixed_precision", "compile.backend"]
    assert ask.offered("precision.mixed_precision") == ("no", "fp16", "bf16")
    assert build(answers) == build({})


def test_a_mac_that_is_to_use_its_cpu_is_not_asked_about_the_gpu(a_mac: Machine) -> None:
    ask = Scripted({"device.cpu": True})
    answers = interview(a_mac, ask)
    assert "device.mps_fallback" not in ask.names
    assert ask.offered("precision.mixed_precision") == ("no", "bf16")
    assert answers["device.cpu"] is True


def test_a_machine_without_gpu_is_not_asked_about_one(a_server: Machine) -> None:
    ask = Scripted()
    interview(a_server, ask)
    assert not any(name.startswith("device.") for name in ask.names)


def test_a_cuda_machine_is_not_asked_about_mps(a_gpu_server: Machine) -> None:
    ask = Scripted()
    interview(a_gpu_server, ask)
    assert "device.cpu" in ask.names
    assert "device.mps_fallback" not in ask.names


def test_more_is_asked_about_the_compiler_when_it_is_used(a_mac: Machine) -> None:
    ask = Scripted({"compile.backend": "inductor", "compile.dynamic": True})
    answers = interview(a_mac, ask)
    assert {"compile.mode", "compile.fullgraph", "compile.dynamic", "compile.regional"} <= set(ask.names)
    assert build(answers).compile.dynamic is True


def test_earlier_answers_are_offered_again(a_mac: Machine) -> None:
    ask = Scripted()
    answers = interview(a_mac, ask, known={"precision.mixed_precision": "bf16", "device.mps_fallback": True})
    assert answers["precision.mixed_precision"] == "bf16"
    assert answers["device.mps_fallback"] is True


def test_an_earlier_answer_that_does_not_fit_is_not_offered(a_server: Machine) -> None:
    answers = interview(a_server, Scripted(), known={"precision.mixed_precision": "fp16"})
    assert answers["precision.mixed_precision"] == "no"


def question(name: str) -> Asked:
    one = knob_named(name)
    return Asked(knob=one, text="How?", offered=one.choices, default=one.default)


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.mark.parametrize(
    ("name", "typed", "answer"),
    [
        ("device.cpu", "yes", True),
        ("device.cpu", "", False),
        ("precision.mixed_precision", "bf16", "bf16"),
        ("training.gradient_accumulation_steps", "4", 4),
        ("training.gradient_accumulation_steps", "", 1),
        ("training.gradient_accumulation_steps", "0\n2", 2),
        ("processes.main_process_port", "", None),
    ],
)
def test_a_person_answers_in_the_type_of_the_setting(
    name: str, typed: str, answer: Value, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, typed + "\n")
    given = ask_person(question(name))
    assert given == answer
    assert type(given) is type(answer)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "")
    with pytest.raises(ConfigError, match="input ended"):
        ask_person(question("device.cpu"))
