"""Loops written for the peer compute the same bits under ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parity import training_loops
from parity.peer import requires_peer, run_both

pytestmark = [requires_peer, pytest.mark.parity]

_SCRIPT = f"""
import sys, traceback
sys.path.append({str(Path(__file__).parents[1])!r})
from parity.training_loops import SCENARIOS

for name, run in SCENARIOS.items():
    try:
        report(name, run())
    except Exception:
        report(name, {{"failed": traceback.format_exc()[-1500:]}})
"""


@pytest.fixture(scope="module")
def reports() -> tuple[dict[str, Any], dict[str, Any]]:
    """What every scenario computed, under the peer and under ours."""
    return run_both(_SCRIPT)


@pytest.mark.parametrize("name", sorted(set(training_loops.SCENARIOS) - {"resuming_with_dropout"}))
def test_same_bits(name: str, reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    peer, ours = (report[name] for report in reports)
    assert "failed" not in peer, peer["failed"]
    assert "failed" not in ours, ours["failed"]
    assert ours == peer


def test_resuming_changes_nothing_also_with_dropout(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    peer, ours = reports
    assert ours["resuming_with_dropout"] == peer["uninterrupted_with_dropout"]
