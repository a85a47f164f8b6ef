"""A hook of mkdocs: puts the table of options into the page that asks for it with `<!-- knobs -->`.

The table is made from the declarations in `accelerate.settings`, so the documentation cannot say anything else.
"""

from __future__ import annotations

from typing import Any

from accelerate.settings.knob import Knob
from accelerate.settings.sections import GROUPS, knobs

MARK = "<!-- knobs -->"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """mkdocs calls this with the text of each page."""
    del kwargs
    return markdown.replace(MARK, knob_tables()) if MARK in markdown else markdown


def knob_tables() -> str:
    """One table for each group of options, in the order of `accelerate launch --help`."""
    parts: list[str] = []
    for group in GROUPS:
        rows = [row(knob) for knob in knobs() if knob.group == group]
        parts += [
            f"### {group}",
            "",
            "| flag | key | variable | default | what it does |",
            "| --- " * 5 + "|",
            *rows,
            "",
        ]
    return "\n".join(parts)


def row(knob: Knob) -> str:
    flag = " ".join(code(spelling) for spelling in (knob.flags[:1] + ((knob.short,) if knob.short else ())))
    default = "" if knob.default in (None, "") else code(knob.text(knob.default))
    choices = f" One of {', '.join(code(choice) for choice in knob.choices)}." if knob.choices else ""
    cells = [flag, code(knob.key), code(knob.env), default, escaped(knob.help) + choices]
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def escaped(text: str) -> str:
    # A bar ends a cell.
    return text.replace("|", "\\|")
