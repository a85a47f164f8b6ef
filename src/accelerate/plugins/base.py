"""What the option classes share."""

from __future__ import annotations

import copy
from typing import Any


class KwargsHandler:
    """Base of dataclasses whose fields become keyword arguments of a torch class."""

    def to_dict(self) -> dict[str, Any]:
        """Return every field with its value; the values are copies."""
        return copy.deepcopy(self.__dict__)

    def to_kwargs(self) -> dict[str, Any]:
        """Return the fields that differ from those of an instance made without arguments."""
        default = type(self)().to_dict()
        return {name: value for name, value in self.to_dict().items() if default[name] != value}
