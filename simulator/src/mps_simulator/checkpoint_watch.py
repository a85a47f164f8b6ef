"""Watches that activation checkpointing draws the same random numbers again when it recomputes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


class _Region:
    """One call of a checkpointed function: what its forward drew, and what a recomputation draws against that.

    Args:
        place: Where the program called it.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._draws: list[tuple[int, int]] = []
        self._next: int | None = None

    def begin_again(self) -> None:
        """What is drawn from now on belongs to a recomputation."""
        self._next = 0

    def drew(self, operation: str, draw: tuple[int, int]) -> str | None:
        """Take note of a draw: (the generator, its state before). Returns what is wrong with it, if anything.

        A recomputation may leave draws out: it stops early, and some of its operators may have been saved.
        """
        if self._next is None:
            self._draws.append(draw)
            return None
        if draw in self._draws[self._next :]:
            self._next = self._draws.index(draw, self._next) + 1
            return None
        return (
            f"mps-simulator --strict: activation checkpointing recomputed {operation} with other random numbers than "
            f"the forward pass had, which makes its gradients wrong. The forward pass was at {self._place}. "
            "torch.utils.checkpoint does not restore the random state of mps: keep torch.mps.get_rng_state() from "
            "before the forward and set it for the recomputation, with context_fn for example."
        )


class CheckpointWatch:
    """Follows every use of `torch.utils.checkpoint`.

    Args:
        complain: Takes the text of a mistake, while a draw is being told.
        watch_draws: Adds to the number of regions that want to be told of draws.
        place: Gives the line that the program is at.
    """

    def __init__(
        self, complain: Callable[[str], None], watch_draws: Callable[[int], object], place: Callable[[], str]
    ) -> None:
        self._complain, self._watch_draws, self._place = complain, watch_draws, place
        self._local = threading.local()

    def drew(self, operation: bytes, generator: int, state: int) -> None:
        """Be told that an operator of this thread drew from a generator, which was in this state."""
        for region in self._regions():
            wrong = region.drew(operation.decode(), (generator, state))
            if wrong is not None:
                self._complain(wrong)
                return

    def install(self) -> None:
        """Change both kinds of checkpointing, beneath the functions by which programs know them."""
        from torch.utils import checkpoint

        reentrant: Any = checkpoint.CheckpointFunction
        reentrant.forward = staticmethod(self._watched_forward(reentrant.forward))
        module: Any = checkpoint
        name = "_checkpoint_without_reentrant_generator_impl"
        if not hasattr(module, name):
            name = name.removesuffix("_impl")
        setattr(module, name, self._watched_generator(getattr(module, name)))

    def _regions(self) -> list[_Region]:
        if not hasattr(self._local, "regions"):
            self._local.regions = []
        return self._local.regions

    @contextmanager
    def _inside(self, region: _Region) -> Generator[None]:
        self._regions().append(region)
        self._watch_draws(1)
        try:
            yield
        finally:
            self._watch_draws(-1)
            self._regions().remove(region)

    def _again(self, region: _Region, function: Callable[..., Any]) -> Callable[..., Any]:
        def recompute(*args: Any, **kwargs: Any) -> Any:
            region.begin_again()
            with self._inside(region):
                return function(*args, **kwargs)

        return recompute

    def _watched_forward(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """`CheckpointFunction.forward`, which calls the function, and leaves it to the backward for a second call."""

        def watched(ctx: Any, function: Callable[..., Any], *args: Any) -> Any:
            region = _Region(self._place())
            with self._inside(region):
                result = forward(ctx, function, *args)
            ctx.run_function = self._again(region, function)
            return result

        return watched

    def _watched_generator(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """The generator that stops while its caller runs the forward pass; it calls the function to recompute."""

        def watched(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Generator[None]:
            region = _Region(self._place())
            steps = make(self._again(region, function), *args, **kwargs)
            next(steps)
            try:
                with self._inside(region):
                    yield
            except BaseException as error:
                try:
                    steps.throw(error)
                except StopIteration:
                    return
            else:
                next(steps, None)

        return watched
