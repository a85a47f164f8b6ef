"""The flat namespace of the API. Names are imported on first use; `__init__.pyi` says where each one lives."""

from __future__ import annotations

from typing import Any

import lazy_loader

from accelerate import notbuilt

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    notbuilt.refuse(__name__, name)
    return _find(name)
