from __future__ import annotations

import pytest
import torch

from programs import simulated

MPS = torch.device("mps")


def draws(device: torch.device | str) -> list[torch.Tensor]:
    drawn = [
        torch.rand(5, device=device),
        torch.randn(5, device=device),
        torch.randint(100, (5,), device=device),
        torch.randperm(50, device=device),
        torch.nn.functional.dropout(torch.ones(50, device=device), 0.3),
        torch.multinomial(torch.ones(5, device=device), 3),
        torch.empty(5, device=device).exponential_(),
        torch.bernoulli(torch.full((5,), 0.5, device=device)),
    ]
    return [one.cpu() for one in drawn]


def test_a_seed_gives_what_it_gives_on_the_cpu() -> None:
    torch.manual_seed(3)
    expected = draws("cpu")
    torch.manual_seed(3)
    found = draws(MPS)
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


def test_the_stream_is_its_own() -> None:
    torch.manual_seed(3)
    cpu, mps = torch.get_rng_state(), torch.mps.get_rng_state()
    draws(MPS)
    torch.native_dropout(torch.ones(5, device=MPS), 0.5, True)
    assert torch.equal(torch.get_rng_state(), cpu)
    assert not torch.equal(torch.mps.get_rng_state(), mps)
    draws("cpu")
    torch.mps.set_rng_state(mps)
    assert torch.equal(torch.mps.get_rng_state(), mps)


def test_a_state_goes_on_where_it_was_taken() -> None:
    state = torch.mps.get_rng_state()
    first = draws(MPS)
    torch.mps.set_rng_state(state)
    assert all(torch.equal(one, other) for one, other in zip(first, draws(MPS), strict=True))


def test_seeds() -> None:
    torch.mps.manual_seed(5)
    first = torch.rand(3, device=MPS)
    torch.mps.manual_seed(5)
    assert torch.equal(torch.rand(3, device=MPS), first)
    torch.mps.seed()
    assert not torch.equal(torch.rand(3, device=MPS), first)
    code = "import torch; print(torch.rand(2, device='mps').tolist())"
    assert simulated(code) != simulated(code)


def test_generators() -> None:
    generator = torch.Generator("mps").manual_seed(7)
    assert generator.device == torch.device("mps", 0)
    assert generator.initial_seed() == 7
    first = torch.randn(3, device=MPS, generator=generator)
    assert torch.equal(first.cpu(), torch.randn(3, generator=torch.Generator().manual_seed(7)))
    state = generator.get_state()
    second = torch.randn(3, device=MPS, generator=generator)
    assert not torch.equal(first, second)
    other = torch.Generator("mps").set_state(state)
    assert torch.equal(torch.randn(3, device=MPS, generator=other), second)
    clone = generator.clone_state()
    assert torch.equal(torch.rand(3, device=MPS, generator=clone), torch.rand(3, device=MPS, generator=generator))


def test_forking_the_state() -> None:
    torch.manual_seed(1)
    with torch.random.fork_rng([0], device_type="mps"):
        torch.rand(3, device=MPS)
    inside = torch.rand(3, device=MPS)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3, device=MPS), inside)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_at_its_ends(p: float) -> None:
    output, mask = torch.native_dropout(torch.ones(4, device=MPS), p, True)
    assert output.tolist() == [1.0 - p] * 4
    assert mask.tolist() == [p == 0.0] * 4
