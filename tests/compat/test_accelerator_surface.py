"""Methods, properties and attributes of `Accelerator` are those of the API.

`accelerator.txt` holds them: parameters by name, kind and default.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from accelerate import Accelerator

_LINES = [line for line in (Path(__file__).parent / "accelerator.txt").read_text().splitlines() if line[0] != "#"]
_METHODS = [line.removeprefix("method ") for line in _LINES if line.startswith("method ")]
_PROPERTIES = [line.removeprefix("property ") for line in _LINES if line.startswith("property ")]
_ATTRIBUTES = [line.removeprefix("attribute ") for line in _LINES if line.startswith("attribute ")]
_UNSET = "<unset>"
# Options of 8-bit training, and details that no client reads.
_LATER = frozenset(
    {
        "_load_model_state_pre_hook",
        "_save_model_state_pre_hook",
        "ao_recipe_handler",
        "flag_tensor",
        "fp8_recipe_handler",
        "msamp_recipe_handler",
        "te_recipe_handler",
    }
)


def _shown(parameter: inspect.Parameter) -> str:
    plain = parameter.replace(annotation=inspect.Parameter.empty)
    # The API's default is a private object that says whether the old argument was given.
    return f"{plain.name}={_UNSET}" if plain.name == "split_batches" else str(plain)


@pytest.mark.parametrize("line", [line for line in _METHODS if line.partition("(")[0] not in _LATER])
def test_method(line: str) -> None:
    name = line.partition("(")[0]
    method = inspect.getattr_static(Accelerator, name)
    parameters = list(inspect.signature(getattr(Accelerator, name)).parameters.values())
    own = parameters if isinstance(method, (staticmethod, classmethod)) else parameters[1:]
    assert f"{name}({', '.join(_shown(parameter) for parameter in own)})" == line


@pytest.mark.parametrize("line", [line for line in _PROPERTIES if line.split()[0] not in _LATER])
def test_property(line: str, accelerator: Accelerator) -> None:
    name, settable = line.split()[0], line.endswith(" settable")
    assert name in dir(accelerator)
    found = inspect.getattr_static(accelerator, name)
    if isinstance(found, property):
        assert (found.fset is not None) or not settable


@pytest.mark.parametrize("name", [name for name in _ATTRIBUTES if name not in _LATER])
def test_attribute(name: str, accelerator: Accelerator) -> None:
    assert hasattr(accelerator, name)


@pytest.mark.parametrize("name", sorted(_LATER))
def test_it_is_still_missing(name: str, accelerator: Accelerator) -> None:
    assert name not in dir(accelerator), "It exists now: take it out of _LATER."
