"""The table of options in the documentation is made from their declarations."""

from __future__ import annotations

import pytest

from accelerate.settings.knob import Knob
from accelerate.settings.sections import knobs
from scripts_loader import PROJECT, load_program

hook = load_program("scripts/docs_knobs.py")


def test_every_option_is_in_the_page() -> None:
    page = hook.on_page_markdown((PROJECT / "docs/launch.md").read_text(), page=None)
    assert hook.MARK not in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for knob in knobs():
        assert any(knob.flag in row and knob.key in row and knob.env in row for row in rows), knob.name


def test_other_pages_stay_as_they_are() -> None:
    assert hook.on_page_markdown("# A page\n") == "# A page\n"


@pytest.mark.parametrize(
    ("knob", "expected"),
    [
        (
            Knob(kind=bool, default=False, help="Use it.", group="", flag="use_it", key="it", env="USE_IT"),
            "| `--use_it` | `it` | `USE_IT` | `false` | Use it. |",
        ),
        (
            Knob(kind=str, default=None, help="a|b.", group="", flag="mode", short="-m", choices=("a", "b")),
            "| `--mode` `-m` |  |  |  | a\\|b. One of `a`, `b`. |",
        ),
    ],
)
def test_a_row(knob: Knob, expected: str) -> None:
    assert hook.row(knob) == expected
