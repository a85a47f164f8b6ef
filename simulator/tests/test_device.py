"""The device does what the CPU does, over memory of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

MPS = torch.device("mps")
IMAGES = torch.linspace(-1, 1, 2 * 4 * 6 * 6).view(2, 4, 6, 6)
KERNEL = torch.linspace(-1, 1, 8 * 4 * 3 * 3).view(8, 4, 3, 3)

Task = Callable[[Tensor], Tensor]


def weights(images: Tensor) -> Tensor:
    return KERNEL.to(images.device)


TASKS: dict[str, Task] = {
    "convolution": lambda x: functional.conv2d(x, weights(x), padding=1),
    "strided convolution": lambda x: functional.conv2d(x, weights(x), stride=2, dilation=2),
    "transposed convolution": lambda x: functional.conv_transpose2d(x, weights(x).transpose(0, 1)),
    "1d convolution": lambda x: functional.conv1d(x[0], weights(x)[:, :, 0].mean(1, keepdim=True).expand(8, 6, 3)),
    "channels last": lambda x: functional.conv2d(x.contiguous(memory_format=torch.channels_last), weights(x)),
    "batch norm": lambda x: functional.batch_norm(x, None, None, training=True),
    "batch norm, channels last": lambda x: functional.batch_norm(
        x.contiguous(memory_format=torch.channels_last), None, None, training=True
    ),
    "layer norm": lambda x: functional.layer_norm(x, (6,)),
    "pooling": lambda x: functional.max_pool2d(x, 2) + functional.adaptive_avg_pool2d(x, 3),
    "matrix product": lambda x: x @ x.transpose(2, 3),
    "linear": lambda x: functional.linear(x, weights(x).view(-1, 6)[:5], torch.ones(5, device=x.device)),
    "einsum": lambda x: torch.einsum("abij,abkj->aik", x, x),
    "softmax": lambda x: x.softmax(-1) + x.log_softmax(1),
    "indexing": lambda x: x[torch.tensor([1, 0]), 2:, ::2, -1],
    "indexing with a tensor of the device": lambda x: x[torch.tensor([1, 0], device=x.device)],
    "masking": lambda x: x[x > 0],
    "writing by index": lambda x: x.index_put((torch.tensor([0]),), torch.zeros(4, 6, 6, device=x.device)),
    "cumulative": lambda x: x.cumsum(2).flip(3).sort(1)[0],
    "views": lambda x: x.transpose(1, 3).unfold(2, 2, 1).diagonal(0, 1, 2).reshape(-1)[::3],
    "numbers": lambda x: x * 2 + torch.tensor(0.5, dtype=torch.float64) - 1,
    "complex": lambda x: torch.view_as_real(torch.complex(x, x).conj() * 1j),
    "fourier": lambda x: torch.fft.irfft(torch.fft.rfft(x)),
    "integers": lambda x: (x * 10).int() // 3,
    "where": lambda x: torch.where(x > 0, x, torch.tensor(0.0)),
    "singular values": lambda x: torch.linalg.svdvals(x[0, 0]),
    "resizing an image": lambda x: functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "out": lambda x: torch.add(x, 1, out=torch.empty(0, device=x.device)),
    "in place": lambda x: x.clone().add_(1).mul_(2).clamp_(-1, 1).t_() if x.dim() == 2 else x.clone().add_(1).relu_(),
    "pieces": lambda x: x.unsafe_chunk(2)[1] + torch.cat(x.split(1), 1).view(2, 4, 6, 6)[:1],
    "a sum over parts of one result": lambda x: torch.stack(torch.std_mean(x, 1)),
}


@pytest.mark.parametrize("name", TASKS)
def test_results_are_those_of_the_cpu(name: str) -> None:
    expected, found = TASKS[name](IMAGES), TASKS[name](IMAGES.to(MPS))
    assert found.device == torch.device("mps", 0)
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("integers", "out", "in place", "pieces")])
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    gradients = []
    for device in ("cpu", "mps"):
        images = IMAGES.clone().to(device).requires_grad_()
        TASKS[name](images).square().sum().backward()
        assert images.grad is not None
        assert images.grad.device.type == device
        gradients.append(images.grad.cpu())
    assert torch.equal(*gradients)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool]
)
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_go_both_ways_and_convert(dtype: torch.dtype, non_blocking: bool) -> None:
    numbers = torch.arange(12, dtype=torch.float64).view(3, 4).t()[1:]
    there = torch.zeros(3, 3, dtype=dtype, device=MPS).copy_(numbers, non_blocking=non_blocking)
    back = torch.zeros(3, 3, dtype=torch.float64)
    back.copy_(there.real if dtype.is_complex else there, non_blocking=non_blocking)
    assert torch.equal(back, numbers.to(dtype).real.double() if dtype.is_complex else numbers.to(dtype).double())
    assert torch.equal(numbers.float().to(MPS).to("cpu"), numbers.float())


def test_results_are_apart_from_their_sources() -> None:
    source = torch.ones(3)
    there = source.to(MPS)
    source.zero_()
    again = there.clone()
    there.zero_()
    assert again.tolist() == [1, 1, 1]


def test_views_share_memory() -> None:
    whole = torch.zeros(4, 4, device=MPS)
    whole.view(2, 8)[0].unfold(0, 2, 2)[1].add_(1)
    torch.as_strided(whole, (2,), (5,), 10).mul_(0).add_(2)
    assert whole.flatten().nonzero().flatten().tolist() == [2, 3, 10, 15]
    assert whole[0].untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()


@pytest.mark.parametrize("size", [(), (0,), (2, 0), (2, 3)])
def test_out_is_resized_and_stays_the_same_tensor(size: tuple[int, ...]) -> None:
    out = torch.empty(0, device=MPS)
    ones = torch.ones(size, device=MPS)
    assert torch.add(ones, 1, out=out) is out
    assert out.shape == torch.Size(size)
    assert torch.equal(out.cpu(), torch.full(size, 2.0))
    view = out.view(-1)
    view.zero_()
    assert not out.any()


def test_storage_can_be_replaced_and_resized() -> None:
    tensor = torch.arange(3.0, device=MPS)
    tensor.resize_(2000)
    assert tensor[:3].tolist() == [0, 1, 2]
    tensor.set_(torch.ones(2, device=MPS))  # pyrefly: ignore
    assert tensor.tolist() == [1, 1]
    tensor.set_(torch.arange(6.0, device=MPS).untyped_storage(), 1, (2, 2), (1, 2))
    assert tensor.tolist() == [[1, 3], [2, 4]]
    assert tensor.set_().numel() == 0  # pyrefly: ignore
    module = torch.nn.Linear(2, 2).to(MPS)
    module.weight.data = torch.eye(2, device=MPS)
    assert module(torch.ones(1, 2, device=MPS)).device.type == "mps"


def test_lazy_conjugates_and_negatives() -> None:
    numbers = torch.tensor([1 + 2j], device=MPS)
    assert numbers.conj().is_conj()
    assert numbers.conj().imag.is_neg()
    assert (numbers.conj().imag.item(), numbers.conj().resolve_conj().tolist()) == (-2, [1 - 2j])
    assert torch.empty(1, dtype=torch.complex64, device=MPS).copy_(numbers.conj()).tolist() == [1 - 2j]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning")  # from PyTorch's own rules of differentiation
def test_transforms_of_functions() -> None:
    def cube(x: Tensor) -> Tensor:
        return x.pow(3).sum()

    point = torch.tensor([1.0, 2.0], device=MPS)
    assert torch.func.hessian(cube)(point).tolist() == [[6, 0], [0, 12]]
    both = torch.func.jvp(torch.square, (point,), (torch.ones(2, device=MPS),))
    assert [one.tolist() for one in both] == [[1, 4], [2, 4]]
    assert torch.vmap(cube)(point.view(2, 1)).tolist() == [1, 8]


@pytest.mark.parametrize("mask", ["none", "causal", "bool", "float"])
@pytest.mark.parametrize("inference", [False, True])
def test_attention_is_the_plain_one(mask: str, inference: bool) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    allowed = torch.ones(6, 6).tril().bool()
    added = torch.zeros(6, 6).masked_fill(~allowed, -torch.inf)
    results = []
    for device in ("cpu", "mps"):
        given = {"bool": allowed, "float": added}.get(mask)
        with sdpa_kernel(SDPBackend.MATH), torch.inference_mode(inference):
            images = IMAGES.to(device)
            given = None if given is None else given.to(device)
            done = functional.scaled_dot_product_attention(images, images, images, given, is_causal=mask == "causal")
        results.append(done.cpu())
    assert torch.equal(*results)


def test_compilers_that_need_no_metal_work() -> None:
    def wave(x: Tensor) -> Tensor:
        return x.sin() + 1

    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(wave, backend=backend)
        assert compiled(torch.zeros(2, device=MPS)).tolist() == [1, 1]


def test_deep_copies() -> None:
    module = torch.nn.Linear(2, 2).to(MPS)
    copied = copy.deepcopy(module)
    assert copied.weight.device.type == "mps"
    copied.weight.data.zero_()
    assert module.weight.any()


def test_repr_and_python_numbers() -> None:
    assert repr(torch.arange(3, device=MPS)) == "tensor([0, 1, 2], device='mps:0')"
    assert (torch.tensor(3, device=MPS).item(), int(torch.tensor(4, device=MPS))) == (3, 4)
