from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.launch.command import Command, become, build, check, check_simulator
from accelerate.launch.plan import LaunchPlan, Target

# Words that an operating system can pass: any text without NUL, as UTF-8 can hold it.
WORDS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)


def planned(target: Target, **variables: str) -> LaunchPlan:
    return LaunchPlan(
        target=target,
        processes=1,
        machines=1,
        device="mps",
        variables=variables,
        gentle_variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"},
        choices=(),
        warnings=(),
    )


@pytest.mark.parametrize(
    ("how", "argv"),
    [
        ("script", ("/py", "train", "--lr", "1")),
        ("module", ("/py", "-m", "train", "--lr", "1")),
        ("program", ("train", "--lr", "1")),
    ],
)
def test_command_lines(how: str, argv: tuple[str, ...]) -> None:
    target = Target("train", ("--lr", "1"), how)
    command = build(planned(target, ACCELERATE_USE_CPU="true"), {}, python="/py")
    assert command.argv == argv
    assert command.env == {"ACCELERATE_USE_CPU": "true", "PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    assert command.warnings == ()


@pytest.mark.parametrize(("how", "rest"), [("script", ("train",)), ("module", ("-m", "train"))])
def test_a_simulated_device_is_put_under_the_program(how: str, rest: tuple[str, ...]) -> None:
    plan = dataclasses.replace(planned(Target("train", ("--lr", "1"), how)), simulated=True)
    assert build(plan, {}, python="/py").argv == ("/py", "-m", "mps_simulator", *rest, "--lr", "1")


def test_a_device_cannot_be_simulated_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "mps_simulator", raising=False)
    with pytest.raises(ConfigError, match=r"pip install \./simulator"):
        check_simulator()


@pytest.mark.parametrize(
    ("before", "warned"), [("true", False), ("1", False), ("YES", False), ("", False), ("0", True), ("?", True)]
)
def test_a_variable_of_the_user_is_overridden_aloud(before: str, warned: bool) -> None:
    command = build(planned(Target("x"), ACCELERATE_USE_CPU="true"), {"ACCELERATE_USE_CPU": before})
    assert command.env["ACCELERATE_USE_CPU"] == "true"
    assert len(command.warnings) == int(warned)
    assert all(f"ACCELERATE_USE_CPU={before}" in line for line in command.warnings)


def test_threads_of_the_user_are_overridden_aloud() -> None:
    command = build(planned(Target("x"), OMP_NUM_THREADS="2"), {"OMP_NUM_THREADS": "8"})
    assert "OMP_NUM_THREADS=8" in command.warnings[0]


@pytest.mark.parametrize(("theirs", "warned"), [("1", False), ("0", True)])
def test_the_fallback_of_the_user_is_kept(theirs: str, warned: bool) -> None:
    command = build(planned(Target("x")), {"PYTORCH_ENABLE_MPS_FALLBACK": theirs})
    assert command.env == {}
    assert len(command.warnings) == int(warned)


@settings(max_examples=25, deadline=None)
@given(args=st.lists(WORDS, max_size=5), value=WORDS)
def test_the_printed_line_does_in_a_shell_what_the_command_does(args: list[str], value: str) -> None:
    show = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['SOME_VALUE']]))"
    command = Command((sys.executable, "-X", "utf8", "-c", show, *args), {"SOME_VALUE": value})
    shell = subprocess.run(["sh", "-c", command.line()], capture_output=True, check=True)
    assert json.loads(shell.stdout) == [args, value]


def test_something_must_be_there_to_run(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    with pytest.raises(ConfigError, match="There is no script"):
        check(Target(str(script)))
    script.touch()
    check(Target(str(script)))
    check(Target("-"))
    check(Target("no.such.module", how="module"))
    with pytest.raises(ConfigError, match="is a folder, not a script"):
        check(Target(str(tmp_path)))
    (tmp_path / "__main__.py").touch()
    check(Target(str(tmp_path)))


def test_programs_must_exist_and_be_allowed_to_run(tmp_path: Path) -> None:
    check(Target("sh", how="program"))
    with pytest.raises(ConfigError, match="There is no program 'no-such-program'"):
        check(Target("no-such-program", how="program"))
    (tmp_path / "text").touch()
    with pytest.raises(ConfigError, match="There is no program"):
        check(Target(str(tmp_path / "text"), how="program"))


def test_a_program_that_cannot_be_started_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("not a program\n")
    with pytest.raises(ConfigError, match="cannot be run"):
        become(Command((str(tmp_path / "empty"),), {}), {})
