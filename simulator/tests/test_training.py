"""Whole loops give the CPU's numbers, bit by bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

STEPS = 4


class Attending(nn.Module):
    """A layer of a transformer with dropout, after an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.layer(self.embedding((images.flatten(1)[:, :7] * 10).long().abs() % 11)).mean(1))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 3)),
    "convolutions": lambda: nn.Sequential(
        *(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2), nn.Conv2d(8, 8, 3, groups=2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)),
    ),
    "transformer": Attending,
}
OPTIMIZERS: dict[str, Callable[[list[Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
    "fused sgd": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9, fused=True),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 0.01),
    "fused adamw": lambda parameters: torch.optim.AdamW(parameters, 0.01, fused=True),
    "foreach adam": lambda parameters: torch.optim.Adam(parameters, 0.01, foreach=True),
}


def train(device: str, model: str, optimizer: str) -> tuple[list[float], list[Tensor]]:
    """Losses of each step, and the state of the model after the last."""
    torch.manual_seed(0)
    net = MODELS[model]()
    net = net.to(device).train()
    steps = OPTIMIZERS[optimizer](list(net.parameters()))
    losses = []
    for step in range(STEPS):
        torch.manual_seed(step)
        images, labels = torch.randn(6, 3, 8, 8, device=device), torch.arange(6, device=device) % 3
        with sdpa_kernel(SDPBackend.MATH):
            loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        steps.step()
        steps.zero_grad()
        losses.append(loss.item())
    return losses, [one.cpu() for one in net.state_dict().values()]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_is_the_cpus_bit_by_bit(model: str, optimizer: str) -> None:
    losses, state = train("cpu", model, optimizer)
    assert len(set(losses)) == STEPS
    there, state_there = train("mps", model, optimizer)
    assert there == losses
    assert all(torch.equal(one, other) for one, other in zip(state, state_there, strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: torch.dtype) -> None:
    layer, inputs = nn.Linear(4, 4).to("mps"), torch.ones(2, 4, device="mps")
    with torch.autocast("mps", dtype=dtype):
        assert layer(inputs).dtype == dtype
        assert layer(inputs).softmax(-1).dtype == torch.float32
    layer(inputs).sum().backward()
    with torch.autocast("mps"):
        assert layer(inputs).dtype == torch.float16


def test_autocast_of_other_types_is_switched_off() -> None:
    with pytest.warns(UserWarning, match="MPS Autocast only supports dtypes"), torch.autocast("mps", torch.float64):
        assert torch.ones(2, 2, device="mps").mm(torch.ones(2, 2, device="mps")).dtype == torch.float32


@pytest.mark.parametrize("fused", [False, True])
def test_a_scaler_skips_steps_whose_gradients_are_infinite(fused: bool) -> None:
    parameter = nn.Parameter(torch.ones(3, device="mps"))
    optimizer = torch.optim.AdamW([parameter], 0.1, fused=fused)
    scaler = torch.amp.GradScaler("mps", init_scale=8.0)
    scaler.scale(parameter.sum() * torch.tensor(torch.inf, device="mps")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (parameter.tolist(), scaler.get_scale()) == ([1, 1, 1], 4.0)
    optimizer.zero_grad()
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    assert parameter.grad is not None
    assert parameter.grad.tolist() == [1, 1, 1]
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() != [1, 1, 1]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_of_activations(reentrant: bool) -> None:
    inputs = torch.ones(2, 4, device="mps", requires_grad=True)
    layer = nn.Linear(4, 4).to("mps")
    checkpoint(layer, inputs, use_reentrant=reentrant).sum().backward()
    assert inputs.grad is not None
    assert torch.equal(inputs.grad, layer.weight.detach().sum(0).expand(2, 4))


def test_recurrent_layers() -> None:
    for kind in (nn.LSTM, nn.GRU):
        layer = kind(3, 4).to("mps")
        layer(torch.ones(5, 2, 3, device="mps"))[0].sum().backward()
        assert all(parameter.grad is not None for parameter in layer.parameters())
