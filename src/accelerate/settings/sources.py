"""Where the value of a setting came from."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


class Kind(enum.Enum):
    """The kinds of places that can set a knob, strongest first."""

    KWARG = "argument"
    """An argument in the script, as in `Accelerator(cpu=True)`."""
    FLAG = "flag"
    """A flag of `accelerate launch`."""
    FILE = "file"
    """The configuration file."""
    ENV = "variable"
    """An environment variable, the user's own or written by the launcher."""
    DEFAULT = "default"
    """Nothing set it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that set a knob.

    Args:
        kind: What kind of place.
        detail: Its name: the flag, the path of the file, the variable, the argument. Empty for a default.
    """

    kind: Kind
    detail: str = ""

    def __str__(self) -> str:
        return self.detail or self.kind.value


DEFAULT = Origin(Kind.DEFAULT)
Provenance: TypeAlias = "Mapping[str, Origin]"  # knob name -> origin, for every knob
