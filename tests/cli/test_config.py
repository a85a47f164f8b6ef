"""The questionnaire on a real terminal, and what a shell sees of `accelerate config`."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
import yaml

from command_line import accelerate, clean_environment

# Starts `accelerate config` on a machine of the test's choice.
ON_A_MAC = """
import sys
from pathlib import Path
import accelerate.cli.config as config
from accelerate.cli.main import run
from accelerate.machine.probe import probe
from machines import dylib, install_torch, mac

torch = install_torch(Path(sys.argv[1]), library=dylib(mps=True, macos=(14, 0)))
config.probe = lambda environ: probe(environ, mac("Apple M2 Max", gib=96, torch=torch))
run(["config", *sys.argv[2:]])
"""
DOWN, UP, ENTER, CTRL_C, CTRL_D = "\x1b[B", "\x1b[A", "\r", "\x03", "\x04"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "accelerate/default_config.yaml"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn[str]]:
    """`accelerate config` on a terminal, on a Mac."""
    child = pexpect.spawn(
        sys.executable,
        ["-c", ON_A_MAC, str(tmp_path / "mac")],
        env=clean_environment(tmp_path, TERM="xterm-256color", PYTHONPATH=str(Path(__file__).parents[1])),
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 120),
    )
    yield child
    child.close(force=True)


def finish(child: pexpect.spawn[str]) -> int:
    """Read to the end and give the exit status."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus is not None
    return child.exitstatus


def test_arrow_keys(terminal: pexpect.spawn[str], file: Path) -> None:
    terminal.expect("This machine: Apple M2 Max, 96 GiB, macOS 15.3. Best device: mps.")
    terminal.expect("Use the CPU only")
    terminal.send("n")
    terminal.expect("operations that the Apple GPU lacks")
    terminal.send("y")
    terminal.expect("Which mixed precision")
    terminal.expect("bf16")
    terminal.send(DOWN + DOWN + UP + DOWN + ENTER)
    terminal.expect("torch.compile")
    terminal.expect("eager")
    terminal.send(DOWN + ENTER)
    terminal.expect("What should the compiler aim for")
    terminal.expect("max-autotune")
    terminal.send(ENTER)
    for question in ("Insist on one graph", "Do the shapes change", "Compile repeated blocks"):
        terminal.expect(question)
        terminal.send(ENTER)
    terminal.expect("Wrote ")
    assert finish(terminal) == 0
    written = yaml.safe_load(file.read_text())
    assert written["mixed_precision"] == "bf16"
    assert written["mps_fallback"] is True
    assert written["dynamo_config"]["dynamo_backend"] == "INDUCTOR"
    assert written["use_cpu"] is False


@pytest.mark.parametrize(("key", "status", "says"), [(CTRL_C, 130, "Stopped"), (CTRL_D, 2, "input ended")])
def test_leaving_writes_nothing(
    key: str, status: int, says: str, terminal: pexpect.spawn[str], file: Path, tmp_path: Path
) -> None:
    terminal.expect("Use the CPU only")
    terminal.send("n")
    terminal.expect("operations that the Apple GPU lacks")
    terminal.send(key)
    terminal.expect(says)
    assert finish(terminal) == status
    assert "Traceback" not in (terminal.before or "")
    assert not file.exists()


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_questions(tmp_path: Path, file: Path) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-c", ON_A_MAC, str(tmp_path / "mac")],
        env=clean_environment(tmp_path, TERM="dumb", PYTHONPATH=str(Path(__file__).parents[1])),
        encoding="utf-8",
        timeout=30,
    )
    for question, answer in [(r"\(yes/no\)", "yes"), (r"\(no/bf16\)", "bf16"), ("torch.compile", "")]:
        child.expect(question)
        child.sendline(answer)
    child.expect("Wrote ")
    assert finish(child) == 0
    assert yaml.safe_load(file.read_text())["use_cpu"] is True


def test_ctrl_c_at_a_plain_question(tmp_path: Path, file: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", ON_A_MAC, str(tmp_path / "mac")],
        env=clean_environment(tmp_path, PYTHONPATH=str(Path(__file__).parents[1]), PYTHONUNBUFFERED="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline().startswith("This machine")
    while child.stdout.read(1) != "[":
        pass
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=30)
    assert (child.returncode, stderr) == (130, "\nStopped; nothing was written.\n")
    assert not file.exists()


def test_plain_answers(tmp_path: Path, file: Path) -> None:
    done = accelerate("config", home=tmp_path, stdin="bf17\nbf16\n\n\n\n")
    assert done.returncode == 0, done.stderr
    assert "The answer is 'bf17'." in done.stdout or "The answer is 'bf16'." in done.stdout
    assert file.is_file()


def test_the_end_of_the_input_is_one_line(tmp_path: Path, file: Path) -> None:
    done = accelerate("config", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "accelerate: error: The input ended before all questions were answered. Nothing was written.\n"
    )
    assert not file.exists()


@pytest.mark.parametrize(
    "arguments", [["config"], ["config", "default"], ["config", "update"], ["config", "show"]], ids=" ".join
)
def test_a_home_that_cannot_be_used_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = accelerate(*arguments, home=tmp_path, env={"HF_HOME": str(tmp_path / "file/sub")}, stdin="\n" * 9)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("accelerate: error: ")


def test_default_show_and_update_one_after_the_other(tmp_path: Path, file: Path) -> None:
    done = accelerate("config", "default", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Wrote {file}. `accelerate launch script.py` will use ")
    assert "use_cpu" in accelerate("config", "show", home=tmp_path).stdout
    before = file.read_text()
    assert accelerate("config", "update", home=tmp_path).returncode == 0
    assert file.read_text() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["default_config.yaml", "default_config.yaml.bak"]


def test_an_unknown_subcommand_or_flag_is_one_line(tmp_path: Path) -> None:
    for arguments in (["config", "defualt"], ["config", "default", "--mixed_precison", "bf16"]):
        done = accelerate(*arguments, home=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
