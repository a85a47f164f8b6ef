"""Layers whose kernels on a Mac check their arguments in words of their own."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import conv1d, conv2d, conv_transpose2d, linear

WHOLE = [torch.int64, torch.int32, torch.uint8]
OTHERS = [torch.float32, torch.float16, torch.bfloat16, torch.complex64]


@pytest.mark.parametrize("dtype", WHOLE)
def test_convolutions_of_whole_numbers_are_refused(dtype: torch.dtype) -> None:
    images, weights = (torch.ones(1, 1, 3, 3, device="mps", dtype=dtype) for _ in range(2))
    for convolve in (conv2d, conv_transpose2d):
        with pytest.raises(RuntimeError, match=r"^Convolution is supported only for Floating types$"):
            convolve(images, weights)


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_convolutions_give_what_they_give_on_the_cpu(dtype: torch.dtype) -> None:
    signal, weights = torch.randn(2, 3, 9).to(dtype), torch.randn(4, 3, 5).to(dtype)
    assert torch.equal(conv1d(signal.to("mps"), weights.to("mps")).cpu(), conv1d(signal, weights))


@pytest.mark.parametrize("dtype", WHOLE)
def test_linear_layers_of_whole_numbers_are_refused(dtype: torch.dtype) -> None:
    rows, weights = (torch.ones(3, 3, device="mps", dtype=dtype) for _ in range(2))
    with pytest.raises(RuntimeError, match=r"^MPS device does not support linear for non-float inputs$"):
        linear(rows, weights)
    with pytest.raises(RuntimeError, match=r"^MPS device does not support linear for non-float weights$"):
        linear(rows.float(), weights)


@pytest.mark.parametrize("moved", ["input", "weight"])
def test_linear_layers_say_which_argument_is_on_the_cpu(moved: str) -> None:
    arguments = {name: torch.ones(3, 3, device="cpu" if name == moved else "mps") for name in ("input", "weight")}
    with pytest.raises(RuntimeError, match=f"^Tensor for argument {moved} is on cpu but expected on mps$"):
        linear(**arguments)


@pytest.mark.parametrize("dtype", OTHERS)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 4, 5)])
def test_other_linear_layers_give_what_they_give_on_the_cpu(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    rows, weights, bias = torch.randn(shape).to(dtype), torch.randn(3, 5).to(dtype), torch.randn(3).to(dtype)
    made = linear(rows.to("mps"), weights.to("mps").requires_grad_(), bias.to("mps"))
    assert torch.equal(made.detach().cpu(), linear(rows, weights, bias))
    assert made.requires_grad


def test_attention_for_mps_needs_no_mask() -> None:
    query, key, value = (torch.randn(1, 2, 3, 4) for _ in range(3))
    placed = (tensor.to("mps") for tensor in (query, key, value))
    made, _ = torch.ops.aten._scaled_dot_product_attention_math_for_mps(*placed)
    assert torch.equal(made.cpu(), torch.ops.aten._scaled_dot_product_attention_math(query, key, value)[0])


def test_a_power_of_two_is_applied_in_each_form() -> None:
    numbers, exponents = torch.randn(3), torch.tensor([1, -2, 3])
    expected = torch.ldexp(numbers, exponents)
    here, powers = numbers.to("mps"), exponents.to("mps")
    out = torch.empty(0, device="mps")
    assert torch.equal(torch.ldexp(here, powers).cpu(), expected)
    assert torch.equal(torch.ldexp(here, powers, out=out).cpu(), expected)
    assert out.shape == (3,)
    assert here.ldexp_(powers) is here
    assert torch.equal(here.cpu(), expected)
    assert torch.equal(torch.ldexp(numbers.to("mps"), torch.tensor(2)).cpu(), torch.ldexp(numbers, torch.tensor(2)))
