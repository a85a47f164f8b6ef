"""Names that are not there say why."""

from __future__ import annotations

import importlib

import pytest

from accelerate import notbuilt


def test_the_reason_is_seen_where_the_name_is_taken() -> None:
    with pytest.raises(ImportError, match=r"init_on_device is missing: .+ is not part of this version"):
        exec("from accelerate.big_modeling import init_on_device")
    with pytest.raises(ImportError, match=r"accelerate\.utils\.offload_weight is missing"):
        exec("from accelerate.utils import offload_weight")


def test_names_that_never_existed_are_plain_errors() -> None:
    for module in ("accelerate.hooks", "accelerate.utils", "accelerate.utils.other"):
        assert not hasattr(importlib.import_module(module), "no_such_name")


@pytest.mark.parametrize("area", notbuilt.AREAS, ids=lambda area: f"{area.module}: {area.what}")
def test_every_module_of_the_table_refuses_its_names(area: notbuilt.Area) -> None:
    module = importlib.import_module(area.module)
    for name in area.names.split():
        with pytest.raises(ImportError, match=rf"{area.module}\.{name} is missing"):
            getattr(module, name)
