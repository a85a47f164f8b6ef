"""Computing in the format that the model's weights have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from accelerate.plugins.handlers import AutocastKwargs
from accelerate.precision.base import Precision


class Full(Precision):
    """No autocast, no scaler: models run as they are."""

    mode = "no"

    def forward(self, options: AutocastKwargs | None = None) -> AbstractContextManager[Any]:
        """See `Precision`; `options` have nothing to act on."""
        del options
        return nullcontext()

    def wrap_forward(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """See `Precision`; returns `forward` itself."""
        return forward


FULL = Full()
