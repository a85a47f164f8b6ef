"""A plan as a table that people can read."""

from __future__ import annotations

from accelerate.launch.plan import LaunchPlan

_HEADINGS = ("setting", "value", "set by", "why")


def explain(plan: LaunchPlan) -> str:
    """Every decision of the plan: what, value, what set it, why. Plain text, one line each."""
    rows = [_HEADINGS, *((one.what, one.value, str(one.origin), one.why) for one in plan.choices)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in (*widths, len(_HEADINGS[3]))))
    return "\n".join(lines + [f"warning: {line}" for line in plan.warnings])
