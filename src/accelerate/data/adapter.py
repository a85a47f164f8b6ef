"""What all prepared loaders have in common: an inner loader that does the work, and a place in the gradient state."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Protocol, cast

from torch.utils.data import DataLoader

from accelerate.errors import ConfigError
from accelerate.training.accumulation import GradientState


class Stateful(Protocol):
    """A loader that can tell its position and take it up again, as torchdata's."""

    def state_dict(self) -> dict[str, Any]:
        """Return the position."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a position up."""
        ...


def stateful_loader_class() -> type[DataLoader[Any]]:
    """Return torchdata's `StatefulDataLoader`; raise ConfigError where torchdata is not installed."""
    try:
        module = importlib.import_module("torchdata.stateful_dataloader")
    except ImportError as error:
        raise ConfigError(
            "use_stateful_dataloader is set, but torchdata's StatefulDataLoader cannot be imported.",
            "It keeps the position of the loader.",
            'Install it with `pip install "torchdata>=0.8"`, or leave the option out.',
        ) from error
    return module.StatefulDataLoader


class DataLoaderStateMixin:
    """Tells the gradient state which loader is being iterated, and where in it the loop is."""

    end_of_dataloader: bool = False
    """Whether the batch that is out is the last one."""
    remainder: int = -1
    """Samples in the last batch of all processes together when it is not full, 0 when it is; -1 when not known."""

    @property
    def gradient_state(self) -> GradientState:
        """The gradient state that this loader reports to."""
        return GradientState()

    def begin(self) -> None:
        """Become the active loader."""
        self.reset()
        self.gradient_state._add_dataloader(self)

    def end(self) -> None:
        """Give the place back to the loader that was active before."""
        self.gradient_state._remove_dataloader(self)

    def reset(self) -> None:
        """Forget where the last loop was."""
        self.end_of_dataloader = False
        self.remainder = -1


class DataLoaderAdapter(DataLoader[Any]):
    """A loader around another one, which keeps doing the work. Attributes not found here are those of the inner one.

    Args:
        dataset: The dataset of the inner loader.
        use_stateful_dataloader: Make the inner loader one of torchdata's `StatefulDataLoader`s.
        batch_sampler: The batch sampler of the inner loader.
        base_dataloader: The inner loader, when there is one already; the other arguments are not used then.
        **kwargs: The other arguments of torch's `DataLoader`.
    """

    def __init__(
        self,
        dataset: Any,
        use_stateful_dataloader: bool = False,
        batch_sampler: Any = None,
        *,
        base_dataloader: DataLoader[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        # Not `super().__init__`: all that it would set comes from the inner loader.
        if base_dataloader is None:
            kind: type[DataLoader[Any]] = stateful_loader_class() if use_stateful_dataloader else DataLoader
            base_dataloader = kind(dataset, batch_sampler=batch_sampler, **kwargs)
        self.base_dataloader = base_dataloader
        self.use_stateful_dataloader = use_stateful_dataloader

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "base_dataloader":  # Not there yet while a copy is being made.
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.base_dataloader, name)

    @property
    def multiprocessing_context(self) -> Any:
        """How the inner loader starts its workers."""
        return self.base_dataloader.multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self.base_dataloader.multiprocessing_context = multiprocessing_context

    @property
    def _stateful(self) -> Stateful | None:
        """The inner loader, when it keeps its own position."""
        return cast("Stateful", self.base_dataloader) if self.use_stateful_dataloader else None

    def __len__(self) -> int:
        return len(self.base_dataloader)

    def __iter__(self) -> Iterator[Any]:  # pyrefly: ignore[bad-override]
        return iter(self.base_dataloader)
