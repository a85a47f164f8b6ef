"""Options of `torch.compile`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accelerate.errors import ConfigError
from accelerate.plugins.base import KwargsHandler
from accelerate.plugins.enums import DynamoBackend


@dataclass
class TorchDynamoPlugin(KwargsHandler):
    """How prepared models are compiled.

    A field left None is not said: `accelerate launch` flags and the configuration file may still say it.

    Args:
        backend: A `DynamoBackend` or its name in any case; `NO` does not compile.
        mode: `"default"`, `"reduce-overhead"` or `"max-autotune"`.
        fullgraph: Whether a break in the graph is an error.
        dynamic: Whether shapes are traced symbolically; None lets torch find out.
        options: Further options of the backend.
        disable: True makes `torch.compile` a no-op, for tests.
        use_regional_compilation: Whether blocks that repeat are compiled once each, instead of the model.

    Raises:
        ConfigError: The backend is unknown.
    """

    backend: DynamoBackend | str | None = None
    mode: str | None = None
    fullgraph: bool | None = None
    dynamic: bool | None = None
    options: Any = None
    disable: bool = False
    use_regional_compilation: bool | None = None

    def __post_init__(self) -> None:
        """Turn names into members."""
        if self.backend is not None:
            self.backend = _backend(str(self.backend))

    def to_dict(self) -> dict[str, Any]:
        """Return every field, the backend by its lower-case name, and defaults for what was not said."""
        return super().to_dict() | {
            "backend": str(self.backend or DynamoBackend.NO).lower(),
            "mode": self.mode or "default",
            "fullgraph": bool(self.fullgraph),
            "use_regional_compilation": bool(self.use_regional_compilation),
        }

    def to_kwargs(self) -> dict[str, Any]:
        """Return the arguments of `torch.compile` that differ from its defaults."""
        kwargs = super().to_kwargs()
        kwargs.pop("use_regional_compilation", None)
        return kwargs


def _backend(name: str) -> DynamoBackend:
    try:
        return DynamoBackend(name.upper())
    except ValueError:
        known = ", ".join(member.value.lower() for member in DynamoBackend)
        raise ConfigError(f"dynamo backend is {name!r}.", f"Known are {known}.") from None
