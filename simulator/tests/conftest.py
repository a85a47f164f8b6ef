"""What the tests measure is printed at their end."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded as the property "figure", whichever process they ran in."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    figures = [
        value
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
    for figure in figures:
        terminalreporter.write_line(str(figure))
