"""Talking with the person at the keyboard: questions and tables. The only module that uses questionary and rich.

On a terminal a question is answered with arrow keys. Without one, or where the terminal cannot move its cursor, it
is a plain line: the question, the allowed answers, the default; one line of input answers it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from accelerate.errors import AccelerateError, ConfigError
from accelerate.launch import environment
from accelerate.settings.knob import FALSE, TRUE

if TYPE_CHECKING:
    from questionary import Question

T = TypeVar("T")


def interactive() -> bool:
    """Whether arrow keys can be used."""
    dumb = environment.get("TERM", "dumb") == "dumb"
    return sys.stdin.isatty() and sys.stdout.isatty() and not dumb


def choose(text: str, choices: Sequence[str], default: str) -> str:
    """Let the person pick one of `choices`."""
    if not interactive():
        return _plain(text, default, _one_of(choices), f"({'/'.join(choices)})")
    import questionary

    return _asked(questionary.select(text, choices=list(choices), default=default))


def confirm(text: str, default: bool) -> bool:
    """Ask a question to be answered with yes or no."""
    if not interactive():
        return _plain(text, "yes" if default else "no", _yes_or_no, "(yes/no)")
    import questionary

    return _asked(questionary.confirm(text, default=default))


def ask(text: str, default: str, parse: Callable[[str], T]) -> T:
    """Ask for a line of text until `parse` takes it.

    Args:
        text: The question.
        default: What an empty answer means.
        parse: Turns the text into a value; raises an `AccelerateError` for one that is not allowed.
    """
    if not interactive():
        return _plain(text, default, parse, "")
    import questionary

    def problem(answer: str) -> bool | str:
        try:
            parse(answer)
        except AccelerateError as error:
            return str(error)
        return True

    return parse(_asked(questionary.text(text, default=default, validate=problem)))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; in full width where the output is not a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        grid.add_column(heading, overflow="fold")
    for row in rows:
        grid.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(grid)


def _plain(text: str, default: str, parse: Callable[[str], T], allowed: str) -> T:
    """Ask on plain lines; answers that `parse` refuses are asked again."""
    while True:
        click.echo(" ".join(part for part in (text, allowed, f"[{default}]:") if part) + " ", nl=False)
        line = sys.stdin.readline()
        if not line:
            click.echo()
            raise _no_more_answers()
        try:
            value = parse(line.strip() or default)
        except AccelerateError as error:
            click.echo(str(error))
            continue
        if not sys.stdin.isatty():
            click.echo(line.strip() or default)
        return value


def _asked(question: Question) -> Any:
    """The answer to a question of questionary.

    Raises:
        KeyboardInterrupt: The person pressed Ctrl-C.
        ConfigError: The terminal was closed, or the person pressed Ctrl-D.
    """
    try:
        return question.unsafe_ask()
    except EOFError:
        raise _no_more_answers() from None


def _no_more_answers() -> ConfigError:
    return ConfigError("The input ended before all questions were answered.", "Nothing was written.")


def _one_of(choices: Sequence[str]) -> Callable[[str], str]:
    def parse(answer: str) -> str:
        if answer.lower() in choices:
            return answer.lower()
        raise ConfigError(f"The answer is {answer!r}.", f"It must be one of: {', '.join(choices)}.")

    return parse


def _yes_or_no(answer: str) -> bool:
    if answer.lower() in TRUE:
        return True
    if answer.lower() in FALSE:
        return False
    raise ConfigError(f"The answer is {answer!r}.", "It must be yes or no.")
