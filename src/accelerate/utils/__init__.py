"""The flat namespace of the API. Names are imported on first use; `__init__.pyi` says where each one lives."""

from __future__ import annotations

from accelerate import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
