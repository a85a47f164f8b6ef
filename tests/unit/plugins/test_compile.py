"""What is passed to torch.compile."""

from __future__ import annotations

import pytest

from accelerate.errors import ConfigError
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DynamoBackend


@pytest.mark.parametrize("backend", ["inductor", "INDUCTOR", DynamoBackend.INDUCTOR])
def test_backend_in_any_spelling(backend: str) -> None:
    plugin = TorchDynamoPlugin(backend=backend)
    assert plugin.backend is DynamoBackend.INDUCTOR
    assert plugin.to_kwargs() == {"backend": "inductor"}


def test_nothing_said_means_no_compilation() -> None:
    assert TorchDynamoPlugin().to_dict() == {
        "backend": "no",
        "mode": "default",
        "fullgraph": False,
        "dynamic": None,
        "options": None,
        "disable": False,
        "use_regional_compilation": False,
    }


def test_regional_compilation_is_ours_to_do() -> None:
    plugin = TorchDynamoPlugin(backend="eager", mode="max-autotune", fullgraph=True, use_regional_compilation=True)
    assert plugin.to_kwargs() == {"backend": "eager", "mode": "max-autotune", "fullgraph": True}


def test_an_unknown_backend_is_named_with_what_is_known() -> None:
    with pytest.raises(ConfigError, match=r"'inducer'.*inductor"):
        TorchDynamoPlugin(backend="inducer")
