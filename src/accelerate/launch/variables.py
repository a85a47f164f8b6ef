"""Helpers for environment variables that programs import from `accelerate.utils`."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, cast

from accelerate.errors import ConfigError
from accelerate.launch import environment
from accelerate.log import topic
from accelerate.settings.knob import FALSE, TRUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_F = TypeVar("_F", bound="Callable[..., Any]")
_OURS = "ACCELERATE_"
_UNSAFE = (";", "\n", "<", ">", " ")


def str_to_bool(value: str, to_bool: bool = False) -> int | bool:
    """Read a truth value: y, yes, t, true, on, 1 or n, no, f, false, off, 0, in any case.

    Returns:
        1 or 0, or True or False with `to_bool`.

    Raises:
        ConfigError: Any other text.
    """
    text = value.lower()
    if text not in TRUE and text not in FALSE:
        raise ConfigError(f"{value!r} is no truth value.", "Allowed are yes, true, on, 1 and no, false, off, 0.")
    found = text in TRUE
    return found if to_bool else int(found)


def parse_flag_from_env(key: str, default: bool = False) -> bool:
    """Read a variable as a truth value; `default` when it is not set.

    Raises:
        ConfigError: It holds anything else.
    """
    return environment.flag(key, default)


def parse_choice_from_env(key: str, default: str = "no") -> str:
    """Read a variable as text; `default` when it is not set."""
    return environment.get(key, default)


def get_int_from_env(env_keys: Iterable[str], default: int) -> int:
    """Return the first of the variables that holds a whole number from 0 on, else `default`.

    Raises:
        ConfigError: A variable is no whole number.
    """
    for name in env_keys:
        text = environment.get(name, "-1")
        try:
            number = int(text)
        except ValueError:
            raise ConfigError(f"The variable {name} is {text!r}.", "It must be a whole number.") from None
        if number >= 0:
            return number
    return default


def purge_accelerate_environment(func_or_cls: _F) -> _F:
    """Decorate a function, or all methods of a class, so that no `ACCELERATE_...` variable outlives a call."""
    if inspect.isclass(func_or_cls):
        for name, member in list(vars(func_or_cls).items()):
            if inspect.isfunction(member):
                setattr(func_or_cls, name, purge_accelerate_environment(member))
        return func_or_cls

    @functools.wraps(func_or_cls)
    def purged(*args: Any, **kwargs: Any) -> Any:
        before = {name: value for name, value in environment.variables.items() if name.startswith(_OURS)}
        try:
            return func_or_cls(*args, **kwargs)
        finally:
            environment.remove(_OURS)
            environment.update(before)

    return cast("_F", purged)


def convert_dict_to_env_variables(current_env: Mapping[str, str]) -> list[str]:
    """Return the variables as lines `NAME=value` for a file that a shell reads.

    Those that are empty, or hold a blank, a line break or one of `;<>`, are left out with a warning.
    """
    lines: list[str] = []
    for name, value in current_env.items():
        if name and value and not any(mark in name + value for mark in _UNSAFE):
            lines.append(f"{name}={value}\n")
        else:
            topic("launch").warning("The variable %s=%s cannot be written to a file and is left out.", name, value)
    return lines
