"""Names that are not there say why."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from accelerate import notbuilt
from accelerate.errors import ConfigError


def test_the_reason_is_seen_where_the_name_is_taken() -> None:
    with pytest.raises(ImportError, match=r"init_on_device is missing: .+ is not part of this version"):
        exec("from accelerate.big_modeling import init_on_device")
    with pytest.raises(ImportError, match=r"accelerate\.utils\.load_offloaded_weight is missing"):
        exec("from accelerate.utils import load_offloaded_weight")


def test_names_that_never_existed_are_plain_errors() -> None:
    for module in ("accelerate.hooks", "accelerate.utils", "accelerate.utils.other"):
        assert not hasattr(importlib.import_module(module), "no_such_name")


@pytest.mark.parametrize("area", notbuilt.AREAS, ids=lambda area: f"{area.module}: {area.what}")
def test_every_module_of_the_table_refuses_its_names(area: notbuilt.Area) -> None:
    module = importlib.import_module(area.module)
    for name in set(area.names.split()) - notbuilt.NEEDED_BY_CLIENTS:
        with pytest.raises(ImportError, match=rf"{area.module}\.{name} is missing"):
            getattr(module, name)


def test_what_clients_import_refuses_when_it_is_called() -> None:
    hooks: Any = importlib.import_module("accelerate.hooks")
    with pytest.raises(ConfigError, match=r"^AlignDevicesHook cannot be used: .+ is not part of this version"):
        hooks.AlignDevicesHook(execution_device=0)
    assert hooks.AlignDevicesHook is hooks.AlignDevicesHook
    assert not isinstance(object(), hooks.ModelHook)


def test_a_class_of_a_client_may_derive_from_a_stand_in() -> None:
    base: Any = importlib.import_module("accelerate.hooks").ModelHook
    derived = type("Hook", (base,), {})
    with pytest.raises(ConfigError, match="ModelHook cannot be used"):
        derived()


def test_each_name_that_clients_need_is_in_the_table() -> None:
    assert {name for area in notbuilt.AREAS for name in area.names.split()} >= notbuilt.NEEDED_BY_CLIENTS
