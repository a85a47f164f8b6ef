from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import accelerate as package
from accelerate.cli.main import cli, config_main, launch_main, main, run
from command_line import START, accelerate, clean_environment


def outcome(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        run(arguments)
    code = caught.value.code
    assert isinstance(code, int)
    return code


def test_help_lists_the_subcommands_without_importing_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("config", "env", "launch", "test"):
        assert f"\n  {name} " in shown


@pytest.mark.parametrize("arguments", [["--version"]])
def test_version(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert outcome(arguments) == 0
    assert package.__version__ in capsys.readouterr().out


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome([]) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lauch"], "There is no command 'lauch'. Did you mean launch?"),
        (["zzz"], "There is no command 'zzz'. There are: config, env, launch, test."),
        (["--verson"], "There is no flag '--verson'. Did you mean --version?"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert outcome(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err == f"accelerate: error: {message}\n"
    assert captured.out == ""


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    assert outcome([]) == 130
    assert capsys.readouterr().err == ""


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    line = f"{START[0]} -m {START[2]} launch --help | true; echo ${{PIPESTATUS[0]}}"
    shell = subprocess.run(
        ["bash", "-c", line], env=clean_environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert shell.stderr == ""
    assert shell.stdout.strip() in ("0", "1")


@pytest.mark.parametrize(
    ("entry", "arguments", "expected"),
    [
        (main, ["--version"], "accelerate, version"),
        (launch_main, ["--help"], "Usage: accelerate launch"),
        (config_main, ["--help"], "Usage: accelerate config"),
    ],
)
def test_entry_points(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    entry: object,
    arguments: list[str],
    expected: str,
) -> None:
    assert callable(entry)
    monkeypatch.setattr(sys, "argv", ["accelerate", *arguments])
    with pytest.raises(SystemExit) as caught:
        entry()
    assert caught.value.code == 0
    assert expected in capsys.readouterr().out


TORCH_FREE = """
import sys
from accelerate.cli.main import run
try:
    run(sys.argv[1:])
except SystemExit as ended:
    assert ended.code == 0, ended.code
heavy = {"torch", "rich", "questionary", "psutil", "importlib.metadata", "numpy"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["launch", "--help"],
        ["launch", "--dry-run", "x.py"],
        ["launch", "--explain", "--config_file", "c.yaml", "x.py"],
    ],
)
def test_nothing_heavy_is_imported(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "x.py").touch()
    (tmp_path / "c.yaml").write_text("use_cpu: true\n")
    done = subprocess.run(
        [sys.executable, "-c", TORCH_FREE, *arguments],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_old_module_name(tmp_path: Path) -> None:
    assert accelerate("--version", home=tmp_path).stdout == f"accelerate, version {package.__version__}\n"
