"""Models of the library peft."""

from __future__ import annotations

import sys

from accelerate.training.wrapping import extract_model_from_parallel


def is_peft_model(model: object) -> bool:
    """Say whether `model`, or what is inside its wrappers, is a `peft.PeftModel`; peft is never imported for that."""
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(extract_model_from_parallel(model), peft.PeftModel)
