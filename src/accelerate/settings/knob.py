"""One option of a run, declared once.

A knob is a field of a section (see `sections.py`). Its declaration carries everything else that names the
option: the flag of `accelerate launch`, the key of the configuration file, the environment variable, the
question of `accelerate config`, the help text and the row in the docs. Nothing else may spell them again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from accelerate.errors import ConfigError

if TYPE_CHECKING:
    from accelerate.machine.facts import Machine

T = TypeVar("T")
Value: TypeAlias = "bool | int | float | str | None"
Answers: TypeAlias = "Mapping[str, Value]"  # knob name -> answer so far

TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
FALSE = frozenset({"0", "false", "no", "off", "n", "f"})
_METADATA_KEY = "knob"


def always(answers: Answers, machine: Machine) -> bool:
    """The condition of a question that fits every machine."""
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What `accelerate config` asks for a knob.

    Args:
        text: The question, one line.
        when: Whether to ask, given the answers so far (by knob name) and the machine.
        offer: The values to offer on this machine, the default among them; None offers all choices.
    """

    text: str
    when: Callable[[Answers, Machine], bool] = always
    offer: Callable[[Answers, Machine], tuple[str, ...]] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Knob:
    """The declaration of one option.

    Args:
        kind: The type of a value that is set: bool, int, float or str.
        default: The value when nothing sets it; None means "not set".
        help: One line for `--help` and the docs.
        group: Heading under which help and docs list it.
        flag: Flag name with underscores, without dashes; empty: no flag.
        short: One-letter flag, with its dash.
        key: Key in the configuration file; a dot separates the parts of a nested key; empty: no key.
        env: Environment variable; empty: none.
        choices: Allowed texts, lower case; empty: anything. Values are compared without case.
        least: The smallest number allowed.
        capitals: True for values that files and variables hold in capitals.
        own: True for a key that the configuration files of other implementations do not know, so that it is
            written only when it differs from the default.
        question: What the questionnaire asks; None: it does not ask.
        name: `section.field`, filled in from the place of the declaration.
    """

    kind: type
    default: Value
    help: str
    group: str
    flag: str = ""
    short: str = ""
    key: str = ""
    env: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    capitals: bool = False
    own: bool = False
    question: Question | None = None
    name: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """Every spelling of the flag, the preferred one first: `--num_processes`, `--num-processes`, `-x`."""
        return spellings(self.flag) + ((self.short,) if self.short else ())

    def parse(self, value: object, where: str) -> Value:
        """Turn a value from a flag, file or variable into the knob's type.

        Args:
            value: A text, or what YAML or a caller made of it. None means "not set" and gives the default.
            where: The place it came from, for the error, as in "num_processes in settings.yaml".

        Raises:
            ConfigError: The value has the wrong type or is not allowed.
        """
        if value is None:
            return self.default
        if self.kind is bool:
            return self._parse_bool(value, where)
        if self.kind is str:
            return self._parse_text(value, where)
        return self._parse_number(value, where)

    def text(self, value: Value) -> str:
        """The value as an environment variable or file holds it; `parse` reads it back."""
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value).upper() if self.capitals else str(value)

    def _parse_bool(self, value: object, where: str) -> bool:
        if isinstance(value, bool):
            return value
        text = str(value).strip().lower()
        if text in TRUE:
            return True
        if text in FALSE:
            return False
        raise ConfigError(f"{where} is {value!r}.", "It must be true or false (1/0, yes/no, on/off).")

    def _parse_number(self, value: object, where: str) -> Value:
        number: int | float | None = None
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            try:
                number = int(str(value)) if self.kind is int else float(value)
            except ValueError:
                number = None
        if number is None:
            noun = "a whole number" if self.kind is int else "a number"
            raise ConfigError(f"{where} is {value!r}.", f"It must be {noun}.")
        if self.least is not None and number < self.least:
            raise ConfigError(f"{where} is {value!r}.", f"It must be {self.least} or more.")
        return number

    def _parse_text(self, value: object, where: str) -> str:
        # YAML reads a bare `no` as False; a knob that can be "no" means that.
        if value is False and "no" in self.choices:
            return "no"
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            allowed = f"one of: {', '.join(self.choices)}" if self.choices else "a text"
            raise ConfigError(f"{where} is {value!r}.", f"It must be {allowed}.")
        text = str(value)
        if not self.choices:
            return text
        if text.strip().lower() in self.choices:
            return text.strip().lower()
        raise ConfigError(f"{where} is {text!r}.", f"It must be one of: {', '.join(self.choices)}.")


def spellings(flag: str) -> tuple[str, ...]:
    """Both spellings of a flag name, underscores first; empty for an empty name."""
    if not flag:
        return ()
    names = (f"--{flag}", f"--{flag.replace('_', '-')}")
    return names[:1] if names[0] == names[1] else names


def knob(
    default: T,
    *,
    help: str,
    group: str,
    kind: type | None = None,
    flag: str = "",
    short: str = "",
    key: str = "",
    env: str = "",
    choices: tuple[str, ...] = (),
    least: int | None = None,
    capitals: bool = False,
    own: bool = False,
    question: Question | None = None,
) -> T:
    """Declare a field of a section as a knob. `kind` is needed only when the default is None."""
    spec = Knob(
        kind=kind or type(default),
        default=default,  # pyrefly: ignore
        help=help,
        group=group,
        flag=flag,
        short=short,
        key=key,
        env=env,
        choices=choices,
        least=least,
        capitals=capitals,
        own=own,
        question=question,
    )
    return dataclasses.field(default=default, metadata={_METADATA_KEY: spec})


def knobs_of(section: type[Any], name: str) -> tuple[Knob, ...]:
    """The knobs of a section class, in order of declaration, named `name.field`.

    Raises:
        TypeError: A field was declared without `knob(...)`.
    """
    found = []
    for field in dataclasses.fields(section):
        spec = field.metadata.get(_METADATA_KEY)
        if not isinstance(spec, Knob):
            raise TypeError(f"{section.__name__}.{field.name} is not declared with knob(...)")
        found.append(dataclasses.replace(spec, name=f"{name}.{field.name}"))
    return tuple(found)
