"""Models of peft are recognised without importing it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from accelerate.training.peft import is_peft_model


class _PeftModel(torch.nn.Module):
    pass


def test_without_peft_nothing_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "peft", raising=False)
    assert not is_peft_model(_PeftModel())
    assert "peft" not in sys.modules


def test_wrappers_are_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", SimpleNamespace(PeftModel=_PeftModel))
    assert is_peft_model(_PeftModel())
    assert is_peft_model(torch.nn.DataParallel(_PeftModel()))
    assert not is_peft_model(torch.nn.Linear(1, 1))
