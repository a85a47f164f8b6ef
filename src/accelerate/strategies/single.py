"""One process, one device."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from accelerate.distributed.placement import move_module
from accelerate.errors import ConfigError
from accelerate.plugins.enums import DistributedType
from accelerate.strategies.base import Context, Strategy
from accelerate.training.compile import compile_model
from accelerate.training.wrapping import extract_model_from_parallel, is_spread, wrap_forward


class Single(Strategy):
    """The model stays whole, on this process's device."""

    distributed_type = DistributedType.NO

    def check(self, model: torch.nn.Module, context: Context) -> None:
        """See `Strategy`.

        Raises:
            ConfigError: The model has parameters without data.
        """
        empty = next((name for name, weight in model.named_parameters() if weight.is_meta), None)
        if empty is not None and not is_spread(model):
            raise ConfigError(
                f"Parameter {empty!r} of the model is on the meta device: it has no data.",
                f"A model that moves to {context.device} needs all of its weights.",
                "Load its weights before `prepare`.",
            )

    def wrap(self, model: torch.nn.Module, context: Context, *, place: bool, evaluation_only: bool) -> torch.nn.Module:
        """See `Strategy`."""
        del evaluation_only
        if place and not is_spread(model):
            move_module(model, context.device)
        wrap_forward(model, context.precision)
        return compile_model(model, context.compile)

    def no_sync(self, model: torch.nn.Module) -> AbstractContextManager[Any]:
        """See `Strategy`; there is nobody to exchange gradients with."""
        del model
        return nullcontext()

    def clip_norm(self, parameters: Iterable[torch.Tensor], max_norm: float, norm_type: float) -> torch.Tensor:
        """See `Strategy`."""
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type=norm_type)

    def unwrap(self, model: torch.nn.Module) -> torch.nn.Module:
        """See `Strategy`."""
        return extract_model_from_parallel(model)

    def state_dict(self, model: torch.nn.Module) -> dict[str, Any]:
        """See `Strategy`."""
        return model.state_dict()
