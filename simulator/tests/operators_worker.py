"""Calls operators of the dispatcher with arguments made up from their schemas, one mps tensor for each tensor.

`python -m mps_simulator operators_worker.py report.json [NAME ...]`; without names, every operator of `aten`.
With names, each is called twice.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mps_simulator.build import build
from mps_simulator.installed import find_torch

KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.MPS)

# PyTorch itself crashes when they get a made-up tensor, on any device.
CRASH = frozenset(
    {
        "aten::_thnn_differentiable_gru_cell_backward",
        "aten::_thnn_differentiable_lstm_cell_backward",
        "aten::quantized_lstm_cell",
    }
)


def tensor() -> torch.Tensor:
    """What stands for every tensor."""
    return torch.ones(2, 2, device="mps")


# How to make a value of each type of the schema language.
MADE_UP: dict[str, Callable[[], Any]] = {
    "Tensor": tensor,
    "int": lambda: 1,
    "float": lambda: 1.0,
    "number": lambda: 1,
    "bool": lambda: True,
    "str": lambda: "mean",
    "Device": lambda: torch.device("mps"),
    "Storage": lambda: tensor().untyped_storage(),
    "Stream": lambda: torch.Stream("mps"),
    "Generator": lambda: torch.Generator("mps"),
}


def made_up(kind: str) -> Any:
    """A value of the type, which is written as in `Optional[List[int]]`."""
    for wrapper in ("Optional[", "List["):
        if kind.startswith(wrapper):
            value = made_up(kind[len(wrapper) : -1])
            return value if wrapper == "Optional[" else [value]
    return MADE_UP[kind]()


def arguments(operator: Any) -> tuple[list[Any], dict[str, Any]]:
    """Values for the arguments that have no default, and for the device."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for argument in operator._schema.arguments:
        if argument.name == "device":
            named["device"] = torch.device("mps")
        elif not argument.has_default_value():
            value = made_up(str(argument.type))
            if isinstance(value, list) and argument.N:
                value *= argument.N
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                given.append(value)
    return given, named


def call(operator: Any) -> str:
    """Call it. The type and the text of its exception, or nothing."""
    try:
        given, named = arguments(operator)
    except KeyError as error:
        return f"no argument can be made up for {error}"
    takes_tensors = any("Tensor" in str(argument.type) for argument in operator._schema.arguments)
    try:
        if takes_tensors or "device" in named:
            operator(*given, **named)
        else:
            operator.redispatch(KEYS, *given, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def route(name: str, device: str) -> str:
    """What the dispatcher runs on a device, in its words: "kernel", "backend fallback", "math kernel" and so on."""
    rows = torch._C._dispatch_dump_table(name).splitlines()
    row = next((row for row in rows if row.startswith(f"{device}: ")), "[none]")
    return row.rsplit("[", 1)[1].rstrip("]")


def visit(name: str, library: ctypes.CDLL, calls: int) -> dict[str, Any]:
    """What becomes of one operator."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    decision = library.mps_simulator_support(f"aten::{base}".encode(), overload.encode())
    results = ["" if name in CRASH else call(operator) for _ in range(calls)]
    return {"route": route(name, "MPS"), "on_cpu": route(name, "CPU"), "decision": decision, "result": results[-1]}


def main(report: Path, names: list[str]) -> None:
    """Visit the operators and write what became of them."""
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    library = ctypes.CDLL(str(build(find_torch(), os.environ).library))
    known = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    found = {name: visit(name, library, 2 if names else 1) for name in names or known}
    report.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
