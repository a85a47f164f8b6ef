from __future__ import annotations

import pytest
import torch

from accelerate import Accelerator
from accelerate.cli import selfcheck


def test_a_healthy_installation_passes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert selfcheck.main() == 0
    assert "ok   every loss is that of plain PyTorch" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["losses", "restored state"])
def test_wrong_numbers_fail(wrong: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    if wrong == "losses":
        plain = selfcheck.train_plainly

        def off(device: torch.device, epochs: int) -> list[float]:
            return [loss * 1.01 for loss in plain(device, epochs)]

        monkeypatch.setattr(selfcheck, "train_plainly", off)
    else:

        def nothing(self: Accelerator, folder: str) -> None:
            pass

        monkeypatch.setattr(Accelerator, "load_state", nothing)
    assert selfcheck.main() == 1
    out = capsys.readouterr().out
    assert out.count("FAIL ") == 1
    assert out.splitlines()[-1] == "FAILED: see above."


def test_mixed_precision_is_not_compared_with_full_precision(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    assert selfcheck.main() == 0
    assert "plain PyTorch" not in capsys.readouterr().out


def test_runs_of_different_length_are_not_alike() -> None:
    assert not selfcheck.alike([1.0], [1.0, 0.5])
