"""Running out of memory, and giving it back."""

from __future__ import annotations

import functools
import gc
import inspect
import traceback
from collections.abc import Callable
from typing import Any

from accelerate.devices import registry
from accelerate.log import topic
from accelerate.runtime import current


def clear_device_cache(garbage_collection: bool = False) -> None:
    """Give memory that no tensor uses any more back to the system, on the device of the current run.

    Args:
        garbage_collection: Whether objects in reference cycles are collected first.
    """
    if garbage_collection:
        gc.collect()
    current().backend.free_cache()


def release_memory(*objects: Any) -> list[None]:
    """Free the device's cache and return one None for each object, to be bound to the objects' names.

    `a, b = release_memory(a, b)` drops the caller's references: memory that a variable still refers to cannot be freed.
    """
    nothing: list[None] = [None] * len(objects)
    del objects
    clear_device_cache(garbage_collection=True)
    return nothing


def should_reduce_batch_size(exception: BaseException) -> bool:
    """Say whether `exception` means that a device, of any known kind, had no memory left."""
    return any(backend.out_of_memory(exception) for backend in registry.every())


def find_executable_batch_size(
    function: Callable[..., Any] | None = None,
    starting_batch_size: int = 128,
    reduce_batch_size_fn: Callable[[], int] | None = None,
) -> Any:
    """Decorate `function` so that it is called again with a smaller batch size whenever memory runs out.

    What a failed attempt has allocated is freed before the next one: nothing keeps its frames alive.

    Args:
        function: Takes the batch size as its first argument; callers leave that argument out.
        starting_batch_size: The first batch size to try.
        reduce_batch_size_fn: Called without arguments, returns the next batch size; None takes nine tenths of the last.

    Raises:
        TypeError: (when called) The batch size was passed by the caller too.
        RuntimeError: (when called) No batch size is left to try.
    """
    if function is None:
        return functools.partial(
            find_executable_batch_size,
            starting_batch_size=starting_batch_size,
            reduce_batch_size_fn=reduce_batch_size_fn,
        )
    search = function

    @functools.wraps(search)
    def call(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(search, args)
        batch_size = starting_batch_size
        clear_device_cache(garbage_collection=True)
        while batch_size > 0:
            fits, result = _attempt(search, batch_size, args, kwargs)
            if fits:
                return result
            clear_device_cache(garbage_collection=True)
            smaller = int(batch_size * 0.9) if reduce_batch_size_fn is None else reduce_batch_size_fn()
            topic("memory").info("No memory for batch size %d, trying %d.", batch_size, smaller)
            batch_size = smaller
        raise RuntimeError(
            f"No executable batch size found, reached zero. The search began at {starting_batch_size} and ran out of "
            "memory with every size. Use a smaller model, shorter inputs, or gradient accumulation."
        )

    return call


def _attempt(
    function: Callable[..., Any], batch_size: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bool, Any]:
    try:
        return True, function(batch_size, *args, **kwargs)
    except Exception as error:
        if not should_reduce_batch_size(error):
            raise
        # The traceback holds the frames, and they hold the tensors of the attempt.
        if error.__traceback__ is not None:
            traceback.clear_frames(error.__traceback__.tb_next)
    return False, None


def _check_arguments(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    names = list(inspect.signature(function).parameters)
    if len(names) < len(args) + 1:
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(names[1:], args[1:], strict=False))
        name = getattr(function, "__name__", repr(function))
        raise TypeError(
            f"{name} was called with {len(args)} arguments, but the batch size is passed as its first argument by the "
            f"decorator. Call it as {name}({shown})."
        )
