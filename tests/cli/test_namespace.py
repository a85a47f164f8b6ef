from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.cli.launch import launch
from accelerate.commands.launch import _validate_launch_command, launch_command, launch_command_parser
from accelerate.errors import ConfigError, LaunchError

PARSER = launch_command_parser()
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10) | st.sampled_from(
    ["--", "-", "-m", "--cpu", "--num_processes", "--help", "-h", "--unknown=1", "-q"]
)
HEADS = st.sampled_from(
    [list[str](), ["--cpu"], ["-m"], ["--num-processes", "1", "-q"], ["--mixed_precision=no"], ["--tee", "3"]]
)


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))


@given(head=HEADS, arguments=st.lists(WORDS, max_size=6))
def test_words_after_the_script_arrive_unchanged(head: list[str], arguments: list[str]) -> None:
    args = PARSER.parse_args([*head, "train.py", *arguments])
    assert args.training_script == "train.py"
    assert args.training_script_args == arguments


@given(head=HEADS, arguments=st.lists(WORDS, max_size=6))
def test_the_command_line_splits_in_the_same_place(head: list[str], arguments: list[str]) -> None:
    context = launch.make_context("launch", [*head, "train.py", *arguments])
    assert context.params["training_script"] == "train.py"
    assert list(context.params["training_script_args"]) == arguments


def test_flags_that_are_not_given_are_none() -> None:
    args = PARSER.parse_args(["train.py"])
    assert args.cpu is None
    assert args.num_processes is None
    assert args.module is False
    assert args.fsdp_version is None


def test_a_subcommand_of_another_program() -> None:
    outer = argparse.ArgumentParser()
    launch_command_parser(outer.add_subparsers())
    args = outer.parse_args(["launch", "--cpu", "train.py", "--lr", "1"])
    assert args.func is launch_command
    assert args.training_script_args == ["--lr", "1"]


def test_it_runs_the_script_and_comes_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "s.py"
    script.write_text("import os, sys; print(sys.argv[1:], os.environ['ACCELERATE_MIXED_PRECISION'])")
    launch_command(PARSER.parse_args(["--mixed_precision", "bf16", str(script), "--", "-x"]))
    assert capfd.readouterr() == ("['--', '-x'] bf16\n", "")


def test_a_failure_carries_the_words_of_the_script(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "s.py"
    script.write_text("print('PROGRESS', flush=True)\nraise ValueError('my-own-error')\n")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        launch_command(PARSER.parse_args([str(script)]))
    assert caught.value.returncode == 1
    assert "my-own-error" in caught.value.stderr
    captured = capfd.readouterr()
    assert captured.out == "PROGRESS\n"
    assert "my-own-error" in captured.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--num_processes", "2"], LaunchError),
        (["--use_deepspeed"], LaunchError),
        (["--mixed_precision", "fp61"], ConfigError),
    ],
)
def test_refusals_are_errors(arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        launch_command(PARSER.parse_args([*arguments, __file__]))


def test_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.py").touch()
    flags = ["--fsdp_version", "2", "--role", "default", str(tmp_path / "s.py")]
    launch_command(PARSER.parse_args(flags))
    assert capsys.readouterr().err == (
        "accelerate: warning: --fsdp_version has no effect on one device: it belongs to sharing a model "
        "between processes (FSDP).\n"
    )
    launch_command(PARSER.parse_args(["--quiet", *flags]))
    assert capsys.readouterr().err == ""


def test_validation_fills_in_what_is_open(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("mixed_precision: bf16\nuse_cpu: true\n")
    args = PARSER.parse_args(["--config_file", str(tmp_path / "c.yaml"), __file__])
    filled, from_file, precision_from_file = _validate_launch_command(args)
    assert (filled.mixed_precision, filled.cpu, filled.num_processes) == ("bf16", True, 1)
    assert from_file == {"mixed_precision": "bf16", "use_cpu": True}
    assert precision_from_file
    assert args.mixed_precision is None
    filled, from_file, precision_from_file = _validate_launch_command(PARSER.parse_args(["--cpu", __file__]))
    assert (filled.mixed_precision, filled.cpu, from_file, precision_from_file) == ("no", True, None, False)
