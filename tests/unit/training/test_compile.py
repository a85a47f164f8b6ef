from __future__ import annotations

import pytest
import torch

from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DynamoBackend
from accelerate.settings.sections import CompileSection
from accelerate.training.compile import (
    compile_model,
    compile_regions,
    has_compiled_regions,
    is_compiled_module,
    plugin_from,
)


class Deep(torch.nn.Module):
    """Two equal blocks and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
        self.head = torch.nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def test_what_the_script_leaves_open_comes_from_the_settings() -> None:
    settings = CompileSection(backend="inductor", mode="max-autotune", fullgraph=True, dynamic=True, regional=True)
    merged = plugin_from(settings, TorchDynamoPlugin(backend="eager", fullgraph=False))
    assert merged.backend == DynamoBackend.EAGER
    assert merged.mode == "max-autotune"
    assert merged.fullgraph is False
    assert merged.dynamic is True
    assert merged.use_regional_compilation is True
    assert plugin_from(CompileSection()).backend == DynamoBackend.NO


def test_nothing_is_compiled_unless_asked() -> None:
    model = Deep()
    assert compile_model(model, TorchDynamoPlugin()) is model
    assert compile_model(model, plugin_from(CompileSection())) is model
    assert not is_compiled_module(model)


def test_a_model_is_compiled_once_and_computes_the_same() -> None:
    model, x = Deep(), torch.ones(1, 2)
    compiled = compile_model(model, TorchDynamoPlugin(backend="eager"))
    assert is_compiled_module(compiled)
    assert torch.equal(compiled(x), model(x))
    assert compile_model(compiled, TorchDynamoPlugin(backend="eager")) is compiled


def test_repeated_blocks_are_compiled_by_themselves() -> None:
    model, x = Deep(), torch.ones(1, 2)
    expected = model(x)
    compiled = compile_model(model, TorchDynamoPlugin(backend="eager", use_regional_compilation=True))
    assert compiled is model
    assert has_compiled_regions(model)
    assert [is_compiled_module(child) for child in model.children()] == [False, False]
    assert all(is_compiled_module(block) for block in model.blocks)
    with torch.no_grad():
        assert torch.equal(model(x), expected)
    assert compile_model(model, TorchDynamoPlugin(backend="eager")) is model


@pytest.mark.parametrize("module", [torch.nn.Linear(1, 1)])
def test_a_module_without_repeated_blocks_is_compiled_whole(module: torch.nn.Module) -> None:
    assert is_compiled_module(compile_regions(module, backend="eager"))
