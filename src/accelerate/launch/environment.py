"""The one door to the environment variables of this process.

The environment is how a launcher tells its script what was decided: `read` is the other end of that wire.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from types import MappingProxyType

from accelerate.errors import ConfigError
from accelerate.settings.knob import FALSE, TRUE
from accelerate.settings.resolve import Resolved, resolve

variables: Mapping[str, str] = MappingProxyType(os.environ)
"""A live view of all variables, to read from."""


def read(kwargs: Mapping[str, object] | None = None) -> Resolved:
    """The settings of this process: arguments given in the script, then variables, then defaults.

    No file is read: what the launcher took from a file arrives as variables.

    Args:
        kwargs: Knob name (`section.field`) -> value; None values are skipped.

    Raises:
        ConfigError: A variable or argument has a value that is not allowed.
    """
    return resolve(env=os.environ, kwargs=kwargs)


def get(name: str, default: str = "") -> str:
    """The text of a variable."""
    return os.environ.get(name, default)


def flag(name: str, default: bool = False) -> bool:
    """A variable as a truth value: 1/true/yes/on or 0/false/no/off; unset or empty gives `default`.

    Raises:
        ConfigError: It holds anything else.
    """
    text = os.environ.get(name, "").strip().lower()
    if not text:
        return default
    if text in TRUE or text in FALSE:
        return text in TRUE
    raise ConfigError(
        f"The environment variable {name} is {os.environ[name]!r}.",
        "It must be true or false (1/0, yes/no, on/off).",
    )


@contextlib.contextmanager
def patch(**values: object) -> Generator[None]:
    """Set variables for the length of a `with` block, then put everything back, also after an error.

    Names are turned to upper case. None removes a variable.
    """
    changed = {name.upper(): value for name, value in values.items()}
    before = {name: os.environ.get(name) for name in changed}
    try:
        _apply(changed)
        yield
    finally:
        _apply(before)


@contextlib.contextmanager
def cleared() -> Generator[None]:
    """Remove every variable for the length of a `with` block, then put all of them back."""
    before = dict(os.environ)
    os.environ.clear()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def update(values: Mapping[str, object]) -> None:
    """Set variables for the rest of this process and its children. None removes one."""
    _apply(values)


def remove(*prefixes: str) -> None:
    """Remove every variable whose name starts with one of `prefixes`."""
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        del os.environ[name]


def _apply(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)
