"""Average pools whose windows Metal does not have."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import adaptive_avg_pool1d, adaptive_avg_pool2d, interpolate

REST = (
    r"\. Non-divisible input sizes are not implemented on MPS device yet\. For now, you can manually transfer tensor "
    r"to cpu in this case\. Please refer to \[this issue\]\(https://github.com/pytorch/pytorch/issues/96056\)"
)


def images(height: int, width: int) -> torch.Tensor:
    """A batch of noise."""
    return torch.randn(2, 3, height, width, device="mps", requires_grad=True)


@pytest.mark.parametrize("size", [(6, 4), (1, 1), (12, 12), (24, 36), (None, 3)])
def test_windows_of_one_size_give_what_they_give_on_the_cpu(size: tuple[int | None, int]) -> None:
    here = images(12, 12)
    there = here.detach().cpu().requires_grad_()
    pooled, expected = adaptive_avg_pool2d(here, size), adaptive_avg_pool2d(there, size)
    assert torch.equal(pooled.cpu(), expected)
    (gradient,) = torch.autograd.grad(pooled.square().sum(), here)
    (wanted,) = torch.autograd.grad(expected.square().sum(), there)
    assert torch.equal(gradient.cpu(), wanted)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ((7, 5), r"^Adaptive pool MPS: input sizes must be divisible by output sizes" + REST),
        ((25, 12), r"^Adaptive pool MPS: output sizes must be divisible by input sizes" + REST),
        ((6, 24), r"^Adaptive pool MPS: Input height and width must both be greater than, or equal to, or lesser than"),
    ],
)
def test_windows_of_several_sizes_are_refused(size: tuple[int, int], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        adaptive_avg_pool2d(images(12, 12), size)


def test_what_is_made_of_them_is_refused_too() -> None:
    with pytest.raises(RuntimeError, match="input sizes must be divisible"):
        adaptive_avg_pool1d(torch.randn(2, 3, 10, device="mps"), 4)
    with pytest.raises(RuntimeError, match="input sizes must be divisible"):
        interpolate(images(10, 10), size=(4, 4), mode="area")
    with pytest.raises(RuntimeError, match="input sizes must be divisible"):
        torch.ops.aten.adaptive_avg_pool2d.out(
            torch.randn(1, 1, 10, 10, device="mps"), (4, 4), out=torch.empty(0, device="mps")
        )


def test_out_grows() -> None:
    here = images(12, 12).detach()
    out = torch.empty(0, device="mps")
    assert torch.ops.aten.adaptive_avg_pool2d.out(here, (6, 4), out=out) is out
    assert torch.equal(out.cpu(), adaptive_avg_pool2d(here.cpu(), (6, 4)))
