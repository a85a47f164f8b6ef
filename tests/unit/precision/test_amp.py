from __future__ import annotations

import copy
import inspect
import io

import torch

from accelerate.plugins.handlers import AutocastKwargs, GradScalerKwargs
from accelerate.precision.amp import Amp


def _bf16(options: AutocastKwargs | None = None) -> Amp:
    return Amp("bf16", "cpu", torch.bfloat16, options or AutocastKwargs())


def test_a_wrapped_forward_computes_in_bf16_and_returns_float32() -> None:
    seen: list[torch.dtype] = []

    def forward(x: torch.Tensor) -> dict[str, torch.Tensor]:
        product = x @ x
        seen.append(product.dtype)
        return {"out": product}

    wrapped = _bf16().wrap_forward(forward)
    assert wrapped(torch.ones(2, 2))["out"].dtype == torch.float32
    assert seen == [torch.bfloat16]
    assert list(inspect.signature(wrapped).parameters) == ["x"]


def test_options_of_the_run_reach_the_forward() -> None:
    model = torch.nn.Linear(2, 2)
    model.__dict__["forward"] = _bf16(AutocastKwargs(enabled=False)).wrap_forward(model.forward)
    exact = torch.nn.functional.linear(torch.ones(1, 2), model.weight, model.bias)
    assert torch.equal(model(torch.ones(1, 2)), exact)


def test_a_wrapped_model_can_be_copied_and_pickled_and_the_copy_uses_its_own_weights() -> None:
    model = torch.nn.Linear(2, 2)
    model.__dict__["forward"] = _bf16().wrap_forward(model.forward)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        model.weight.zero_()
        assert model.bias is not None
        model.bias.zero_()
    assert torch.count_nonzero(twin(torch.ones(1, 2)))
    file = io.BytesIO()
    torch.save(twin, file)
    file.seek(0)
    back = torch.load(file, weights_only=False)
    assert torch.equal(back(torch.ones(1, 2)), twin(torch.ones(1, 2)))


def test_the_loss_is_scaled_where_there_is_a_scaler() -> None:
    fp16 = Amp("fp16", "cpu", torch.float16, AutocastKwargs(), GradScalerKwargs(init_scale=4.0))
    assert fp16.scale(torch.ones(())).item() == 4.0
