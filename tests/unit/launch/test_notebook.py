"""Functions run in this process, with the environment put back."""

from __future__ import annotations

import os
from typing import Any

import pytest

from accelerate.errors import ConfigError, LaunchError
from accelerate.launch.notebook import debug_launcher, notebook_launcher


@pytest.mark.parametrize("options", [{}, {"num_processes": 1}, {"num_processes": None, "num_nodes": 1}])
def test_the_function_runs_here_once(options: dict[str, Any]) -> None:
    calls: list[tuple[object, int]] = []

    def function(tag: str) -> None:
        calls.append((tag, os.getpid()))

    notebook_launcher(function, ("a",), **options)
    assert calls == [("a", os.getpid())]


def test_the_precision_reaches_the_function_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    seen: list[str] = []

    def function() -> None:
        seen.append(os.environ["ACCELERATE_MIXED_PRECISION"])
        raise KeyError

    with pytest.raises(KeyError):
        notebook_launcher(function, mixed_precision="bf16")
    notebook_launcher(lambda: seen.append(os.environ["ACCELERATE_MIXED_PRECISION"]))
    assert seen == ["bf16", "fp16"]
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == "fp16"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"num_processes": 2}, LaunchError, "num_processes is 2.*one process"),
        ({"num_nodes": 2}, LaunchError, "num_nodes is 2"),
        ({"num_processes": 0}, ConfigError, "num_processes is 0"),
        ({"mixed_precision": "fp32"}, ConfigError, "'fp32'.*bf16"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_function_runs(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        notebook_launcher(lambda: pytest.fail("it ran"), **options)


def test_debugging_runs_on_the_cpu_and_refuses_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    seen: list[str] = []
    debug_launcher(lambda: seen.append(os.environ["ACCELERATE_USE_CPU"]), num_processes=1)
    assert seen == ["true"]
    assert "ACCELERATE_USE_CPU" not in os.environ
    with pytest.raises(LaunchError, match="num_processes is 2"):
        debug_launcher(lambda: pytest.fail("it ran"))
