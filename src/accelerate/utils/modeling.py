"""Where programs look for helpers around models."""

from __future__ import annotations

from functools import partial

from accelerate import notbuilt
from accelerate.training.peft import is_peft_model

__all__ = [
    "is_peft_model",
]

__getattr__ = partial(notbuilt.only, __name__)
