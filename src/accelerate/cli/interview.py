"""The questions of `accelerate config`: which ones fit a machine, in which order, with which answers offered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from accelerate.cli import ui
from accelerate.machine.facts import Machine
from accelerate.settings.knob import Knob, Value
from accelerate.settings.sections import knobs


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One question, ready to be asked.

    Args:
        knob: The setting it decides.
        text: The question.
        offered: The answers to pick from; empty when any value of the knob's type will do.
        default: What is meant by an empty answer.
    """

    knob: Knob
    text: str
    offered: tuple[str, ...]
    default: Value


class Ask(Protocol):
    """Puts a question to somebody and returns the answer, which is a value the knob allows."""

    def __call__(self, asked: Asked) -> Value:
        """Ask it."""
        ...


def interview(machine: Machine, ask: Ask, known: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """Ask all questions that fit the machine and the answers given so far.

    Args:
        machine: The computer to configure.
        ask: Puts one question.
        known: Knob name -> value to offer as the default, from an earlier configuration.

    Returns:
        Knob name -> answer, for the knobs that were asked about.
    """
    answers: dict[str, Value] = {}
    for one in knobs():
        if one.question is None or not one.question.when(answers, machine):
            continue
        offered = one.question.offer(answers, machine) if one.question.offer else one.choices
        default = (known or {}).get(one.name, one.default)
        if offered and default not in offered:
            default = one.default if one.default in offered else offered[0]
        answers[one.name] = ask(Asked(knob=one, text=one.question.text, offered=offered, default=default))
    return answers


def ask_person(asked: Asked) -> Value:
    """Put a question to the person at the keyboard.

    Raises:
        KeyboardInterrupt: The person pressed Ctrl-C.
        ConfigError: There is no more input.
    """
    if asked.knob.kind is bool:
        return ui.confirm(asked.text, bool(asked.default))
    if asked.offered:
        return ui.choose(asked.text, asked.offered, str(asked.default))
    default = "" if asked.default is None else str(asked.default)
    return ui.ask(asked.text, default, lambda answer: asked.knob.parse(answer or None, "The answer"))
