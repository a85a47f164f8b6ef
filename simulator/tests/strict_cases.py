"""What programs do with copies and checkpoints. As a program: prints what each case raises, as JSON."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.utils.data import DataLoader, TensorDataset

FREED = "was freed before"
CHANGED = "was changed before"
USED = "was used before"
REDRAWN = "other random numbers"

# The cases by name, and what --strict says to each: part of the text, or "" for nothing.
CASES: dict[str, tuple[Callable[[], object], str]] = {}


def _case(wrong: str = "") -> Callable[[Callable[[], object]], Callable[[], object]]:
    def register(function: Callable[[], object]) -> Callable[[], object]:
        CASES[function.__name__] = (function, wrong)
        return function

    return register


def _late(source: torch.Tensor) -> torch.Tensor:
    return source.to("mps", non_blocking=True)


# Copies.


@_case(FREED)
def freed_before_synchronize() -> None:
    result = _late(torch.randn(4, 4))
    torch.mps.synchronize()
    del result


@_case(FREED)
def freed_before_a_use() -> object:
    return _late(torch.randn(4, 4)) + 1


@_case(FREED)
def freed_before_item_of_another() -> None:
    other = torch.ones(1, device="mps")
    result = _late(torch.randn(4, 4))
    other.item()
    del result


@_case(FREED)
def module_moved() -> None:
    module = nn.Linear(3, 3).to("mps", non_blocking=True)
    torch.mps.synchronize()
    del module


@_case(FREED)
def batches_of_a_plain_loader() -> None:
    late = []
    for (batch,) in DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4):
        late.append(_late(batch))
    torch.mps.synchronize()


@_case(FREED)
def memory_of_the_source_moved() -> None:
    source = torch.randn(4)
    result = _late(source)
    source.resize_(100_000)
    torch.mps.synchronize()
    del result


@_case(CHANGED)
def changed_before_synchronize() -> None:
    source = torch.randn(4, 4)
    result = _late(source)
    source.add_(1)
    torch.mps.synchronize()
    del result


@_case(CHANGED)
def changed_through_numpy() -> None:
    source = torch.zeros(1000)
    result = _late(source)
    source.numpy()[999] = 1
    torch.mps.synchronize()
    del result


@_case(CHANGED)
def changed_in_a_part_of_a_view() -> None:
    source = torch.randn(8, 8)
    result = _late(source[::2, 1:])
    source[2, 3] += 1
    torch.mps.synchronize()
    del result


@_case()
def changed_beside_a_view() -> object:
    source = torch.randn(8, 8)
    result = _late(source[::2, 1:])
    source[1] += 1
    torch.mps.synchronize()
    return result + 1


@_case(CHANGED)
def changed_by_a_thread() -> None:
    source = torch.randn(4)
    result = _late(source)
    thread = threading.Thread(target=source.zero_)
    thread.start()
    thread.join()
    torch.mps.synchronize()
    del result


@_case(USED)
def used_by_an_operator() -> object:
    source = torch.randn(4, 4)
    return _late(source) + 1


@_case(USED)
def used_by_a_convolution() -> object:
    source = torch.randn(1, 3, 4, 4)
    return nn.Conv2d(3, 2, 1).to("mps")(_late(source))


@_case(USED)
def used_through_a_view() -> object:
    source = torch.randn(4, 4)
    return _late(source)[1:].t().sum()


@_case(USED)
def used_by_a_copy_on_the_device() -> object:
    source = torch.randn(4)
    return _late(source).clone()


@_case(USED)
def used_in_a_list() -> object:
    source = torch.randn(4)
    return torch.cat([torch.ones(1, device="mps"), _late(source)])


@_case(USED)
def used_after_an_event_that_is_too_early() -> object:
    event = torch.mps.Event()
    event.record()
    source = torch.randn(4, 4)
    result = _late(source)
    event.synchronize()
    return result + 1


@_case(USED)
def used_after_conversion() -> object:
    source = torch.randn(4)
    return source.to("mps", torch.float16, non_blocking=True) + 1


@_case()
def kept_until_synchronize() -> object:
    source = torch.randn(4, 4)
    result = _late(source)
    torch.mps.synchronize()
    source.zero_()
    return result + 1


@_case()
def kept_until_an_event() -> object:
    source = torch.randn(4, 4)
    result = _late(source)
    event = torch.mps.Event()
    event.record()
    event.synchronize()
    return result + 1


@_case()
def kept_until_a_generic_event() -> object:
    source = torch.randn(4, 4)
    result = _late(source)
    event = torch.Event("mps")
    event.record()
    event.synchronize()
    return result + 1


@_case()
def kept_until_the_accelerator_synchronizes() -> object:
    source = torch.randn(4, 4)
    result = _late(source)
    torch.accelerator.synchronize()
    return result + 1


@_case()
def kept_until_a_blocking_copy() -> object:
    source = torch.randn(4, 4)
    result = _late(source)
    return result + torch.randn(4, 4).to("mps")


@_case()
def read_by_the_host() -> None:
    source = torch.randn(2)
    _late(source).cpu()
    _late(source)[0].item()
    _late(source).nonzero()


@_case()
def looked_at_but_not_read() -> object:
    source = torch.randn(4, 4)
    view = _late(source)[1:].t().unsqueeze(0).detach()
    torch.mps.synchronize()
    return view.sum()


@_case()
def written_again() -> object:
    target = torch.empty(4, device="mps")
    target.copy_(torch.randn(4), non_blocking=True)
    source = torch.randn(4)
    target.copy_(source, non_blocking=True)
    torch.mps.synchronize()
    return target + 1


@_case()
def result_given_up() -> None:
    _late(torch.randn(4))
    torch.mps.synchronize()


@_case()
def pinned_source() -> object:
    return _late(torch.randn(4).pin_memory()) + 1


@_case()
def number_by_value() -> object:
    return _late(torch.tensor(3.0)) + 1


@_case()
def nothing_to_copy() -> object:
    return _late(torch.empty(0)) + 1


@_case()
def blocking_copy() -> object:
    result = torch.randn(4, 4).to("mps") + 1
    torch.mps.synchronize()
    return result


@_case()
def blocking_loader() -> None:
    for (batch,) in DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4):
        batch.to("mps").sum().item()


# Checkpoints.


def _net(dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(dropout), nn.Linear(8, 8), nn.ReLU()).to("mps")


def _backward_through(dropout: float, **options: Any) -> None:
    inputs = torch.randn(2, 8, device="mps", requires_grad=True)
    result: Any = checkpoint(_net(dropout), inputs, **options)
    result.sum().backward()


def _restoring() -> tuple[contextlib.AbstractContextManager[None], contextlib.AbstractContextManager[None]]:
    before = torch.mps.get_rng_state()

    @contextlib.contextmanager
    def again() -> Generator[None]:
        now = torch.mps.get_rng_state()
        torch.mps.set_rng_state(before)
        yield
        torch.mps.set_rng_state(now)

    return contextlib.nullcontext(), again()


@_case(REDRAWN)
def dropout_reentrant() -> None:
    _backward_through(0.5, use_reentrant=True)


@_case(REDRAWN)
def dropout_not_reentrant() -> None:
    _backward_through(0.5, use_reentrant=False)


@_case(REDRAWN)
def dropout_not_preserved_on_purpose() -> None:
    _backward_through(0.5, use_reentrant=False, preserve_rng_state=False)


@_case(REDRAWN)
def dropout_in_a_sequence() -> None:
    inputs = torch.randn(2, 8, device="mps", requires_grad=True)
    checkpoint_sequential(_net(0.5), 2, inputs, use_reentrant=False).sum().backward()


@_case(REDRAWN)
def generator_of_the_program() -> None:
    generator = torch.Generator("mps")
    weight = torch.ones(4, device="mps", requires_grad=True)

    def noisy(inputs: torch.Tensor) -> torch.Tensor:
        return (inputs * torch.rand(4, device="mps", generator=generator)).exp()

    result: Any = checkpoint(noisy, weight, use_reentrant=False, context_fn=_restoring)
    result.sum().backward()


@_case(REDRAWN)
def dropout_in_an_inner_checkpoint() -> None:
    inner = _net(0.5)

    def outer(inputs: torch.Tensor) -> Any:
        return checkpoint(inner, inputs, use_reentrant=False)

    result: Any = checkpoint(outer, torch.randn(2, 8, device="mps", requires_grad=True), use_reentrant=False)
    result.sum().backward()


@_case()
def dropout_restored() -> None:
    _backward_through(0.5, use_reentrant=False, context_fn=_restoring)


@_case()
def dropout_of_nothing() -> None:
    _backward_through(0.0, use_reentrant=True)
    _backward_through(0.0, use_reentrant=False)


@_case()
def dropout_on_the_cpu() -> None:
    net = _net(0.5).cpu()
    for reentrant in (True, False):
        result: Any = checkpoint(net, torch.randn(2, 8, requires_grad=True), use_reentrant=reentrant)
        result.sum().backward()


@_case()
def dropout_outside() -> None:
    result: Any = checkpoint(_net(0.0), torch.randn(2, 8, device="mps", requires_grad=True), use_reentrant=False)
    nn.functional.dropout(result).sum().backward()


@_case()
def dropout_without_backward() -> None:
    with torch.no_grad():
        checkpoint(_net(0.5), torch.randn(2, 8, device="mps"), use_reentrant=False)
    checkpoint(_net(0.5), torch.randn(2, 8, device="mps", requires_grad=True), use_reentrant=True)


@_case()
def error_in_a_checkpointed_function() -> None:
    def fails(_: torch.Tensor) -> None:
        raise ValueError("of the program")

    for reentrant in (True, False):
        with pytest.raises(ValueError, match="of the program"):
            checkpoint(fails, torch.ones(1, device="mps", requires_grad=True), use_reentrant=reentrant)


@_case()
def dropout_with_the_gate_of_torch_opened() -> None:
    module: Any = torch.mps
    module._initialized, module.device = True, contextlib.nullcontext
    try:
        _backward_through(0.5, use_reentrant=True)
        _backward_through(0.5, use_reentrant=False)
    finally:
        del module._initialized, module.device


def _raised(function: Callable[[], object]) -> str:
    try:
        function()
    except RuntimeError as error:
        return str(error)
    finally:
        with contextlib.suppress(RuntimeError):
            torch.mps.synchronize()
    return ""


if __name__ == "__main__":
    print(json.dumps({name: _raised(function) for name, (function, _) in CASES.items()}))
