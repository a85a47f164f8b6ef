from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accelerate.cli.main import run
from command_line import START, accelerate, clean_environment

SHOW = """
import json, os, sys
print(json.dumps({"argv": sys.argv, "file": __file__, "cwd": os.getcwd(), "name": __name__, "pid": os.getpid(),
    "path0": sys.path[0], "python": sys.executable, "stdin": sys.stdin.read(),
    "env": {k: v for k, v in os.environ.items() if k.startswith(("ACCELERATE_", "PYTORCH_", "OMP_"))}}))
"""
HOSTILE = ["--num_processes", "5", "--cpu", "", "--", "-m", "a*b", "it's", 'say "hi"', "ünï", "-q", "--help", "$HOME"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "show.py").write_text(SHOW)
    return tmp_path


def shown(*arguments: str, folder: Path, env: dict[str, str] | None = None, stdin: str = "") -> dict[str, object]:
    done = accelerate("launch", *arguments, home=folder, env=env, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run in this process something that ends with an error before anything starts; gives back its line."""
    with pytest.raises(SystemExit) as caught:
        run(["launch", *arguments])
    captured = capsys.readouterr()
    assert caught.value.code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("accelerate: error: ")
    return captured.err.strip()


def test_a_script_sees_what_it_sees_under_python(folder: Path) -> None:
    ours = shown("show.py", *HOSTILE, folder=folder, stdin="some input")
    plain = subprocess.run(
        [sys.executable, "show.py", *HOSTILE],
        cwd=folder,
        env=clean_environment(folder),
        input="some input",
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(plain.stdout)
    for seen in (ours, theirs):
        del seen["pid"]
    assert ours == theirs


def test_a_module(folder: Path) -> None:
    seen = shown("-m", "show", *HOSTILE, folder=folder)
    assert seen["argv"] == [str(folder / "show.py"), *HOSTILE]
    assert seen["name"] == "__main__"


def test_a_program(folder: Path) -> None:
    done = accelerate("launch", "--no_python", "printf", "%s|", *HOSTILE, home=folder)
    assert done.stdout == "".join(f"{word}|" for word in HOSTILE)


def test_a_script_from_standard_input(folder: Path) -> None:
    done = accelerate("launch", "-", "a", home=folder, stdin="import sys; print(sys.argv)")
    assert done.stdout == "['-', 'a']\n"


def test_the_launcher_becomes_the_script(folder: Path) -> None:
    process = subprocess.Popen(
        [*START, "launch", "show.py"], cwd=folder, env=clean_environment(folder), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    output, _ = process.communicate(timeout=60)
    assert json.loads(output)["pid"] == process.pid


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('message')", 1),
        ("pass", 0),
        ("import os; os.kill(os.getpid(), 15)", -15),
    ],
)
def test_exit_status(folder: Path, code: str, status: int) -> None:
    (folder / "end.py").write_text(code)
    assert accelerate("launch", "end.py", home=folder).returncode == status


def test_one_traceback(folder: Path) -> None:
    (folder / "end.py").write_text("raise KeyError('mine')")
    done = accelerate("launch", "end.py", home=folder)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("KeyError: 'mine'\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_script(folder: Path, number: signal.Signals) -> None:
    (folder / "wait.py").write_text(
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *a: sys.exit(42))\n"
        "open('ready', 'w').close()\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([*START, "launch", "wait.py"], cwd=folder, env=clean_environment(folder))
    deadline = time.monotonic() + 30
    while not (folder / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(timeout=30) == 42


@pytest.mark.parametrize(
    "flags", [[], ["--num_processes=1", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no"]]
)
def test_an_ordinary_launch_says_nothing(folder: Path, flags: list[str]) -> None:
    done = accelerate("launch", *flags, "show.py", home=folder)
    assert len(done.stderr.splitlines()) <= (0 if flags else 1)


def test_the_environment_is_the_wire(folder: Path) -> None:
    (folder / "c.yaml").write_text("mixed_precision: bf16\nuse_cpu: false\nnum_processes: 1\n")
    seen = shown(
        "--config-file", "c.yaml", "--gradient-accumulation-steps=2", "--num_cpu_threads_per_process", "3", "--debug",
        "show.py", folder=folder, env={"ACCELERATE_DYNAMO_BACKEND": "EAGER"},
    )  # fmt: skip
    assert seen["env"] == {
        "ACCELERATE_MIXED_PRECISION": "bf16",
        "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "2",
        "ACCELERATE_DEBUG_MODE": "true",
        "ACCELERATE_DYNAMO_BACKEND": "EAGER",
        "OMP_NUM_THREADS": "3",
    }


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_the_default_file_is_used(folder: Path, suffix: str) -> None:
    (folder / "accelerate").mkdir()
    (folder / f"accelerate/default_config.{suffix}").write_text('{"use_cpu": true}')
    assert shown("show.py", folder=folder)["env"] == {"ACCELERATE_USE_CPU": "true"}


def test_a_cache_folder_that_cannot_exist_does_no_harm(folder: Path) -> None:
    seen = shown("show.py", folder=folder, env={"HF_HOME": str(folder / "show.py" / "sub")})
    assert seen["env"] == {}


def test_overriding_a_variable_is_said_once_and_can_be_silenced(folder: Path) -> None:
    env = {"ACCELERATE_MIXED_PRECISION": "no"}
    done = accelerate("launch", "--mixed_precision", "bf16", "show.py", home=folder, env=env)
    assert done.stderr == (
        "accelerate: warning: ACCELERATE_MIXED_PRECISION=no in the environment is overridden: "
        "this run sets it to bf16.\n"
    )
    quiet = accelerate("launch", "-q", "--mixed_precision", "bf16", "show.py", home=folder, env=env)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_dry_run_prints_what_a_shell_can_run(folder: Path) -> None:
    done = accelerate("launch", "--cpu", "--dry-run", "show.py", *HOSTILE, home=folder)
    assert shlex.split(done.stdout) == ["ACCELERATE_USE_CPU=true", sys.executable, "show.py", *HOSTILE]
    pasted = subprocess.run(
        ["sh", "-c", done.stdout], cwd=folder, env=clean_environment(folder), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(pasted.stdout)
    assert seen["argv"] == ["show.py", *HOSTILE]
    assert seen["env"] == {"ACCELERATE_USE_CPU": "true"}


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "c.yaml").write_text("use_cpu: true\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ACCELERATE_DEBUG_MODE", "1")
    with pytest.raises(SystemExit) as caught:
        run(
            [
                "launch",
                "--explain",
                "--dry_run",
                "--config_file",
                "c.yaml",
                "--mixed_precision",
                "bf16",
                "--tee",
                "3",
                "show.py",
            ]
        )
    assert caught.value.code == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["device", "cpu", "c.yaml", "the", "CPU", "was", "asked", "for"] in lines
    assert ["mixed_precision", "bf16", "--mixed_precision", "given", "on", "the", "command", "line"] in lines
    assert ["debug", "true", "ACCELERATE_DEBUG_MODE", "set", "in", "the", "environment"] in lines
    assert ["cpu", "true", "c.yaml", "the", "configuration", "file", "says", "so"] in lines
    assert ["num_machines", "1", "default", "nothing", "sets", "it"] in lines
    assert ["warning:", "--tee:", "no", "effect", "with", "one", "process."] in lines
    assert lines[-1][-1] == "show.py"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No script was given. Use: accelerate launch [options] script.py"),
        (["none.py"], "There is no script 'none.py'"),
        (["."], "'.' is a folder, not a script."),
        (["--no_python", "no-such-program"], "There is no program 'no-such-program'"),
        (["-m", "--no_python", "x"], "--module and --no_python exclude each other."),
        (
            ["--mixd_precision", "bf16", "show.py"],
            "There is no flag '--mixd_precision'. Did you mean --mixed_precision?",
        ),
        (["--num_processes"], "Option '--num_processes' requires an argument."),
        (["--cpu=1", "show.py"], "Option '--cpu' does not take a value."),
        (["--num_processes", "two", "show.py"], "--num_processes is 'two'. It must be a whole number."),
        (
            ["--mixed_precision", "fp61", "show.py"],
            "--mixed_precision is 'fp61'. It must be one of: no, fp16, bf16, fp8.",
        ),
        (["--mixed_precision=fp8", "show.py"], "Use bf16."),
        (["--cpu", "--mixed_precision=fp16", "show.py"], "which has no fp16. Use bf16."),
        (["--num_processes", "2", "show.py"], "--num_processes asks for 2 processes"),
        (["--num_machines=2", "show.py"], "--num_machines asks for 2 machines"),
        (["--use_fsdp", "show.py"], "--use_fsdp asks for"),
        (["--use_deepspeed", "show.py"], "--use_deepspeed asks for DeepSpeed, which this accelerate does not drive."),
        (["--zero_stage", "3", "show.py"], "asks for DeepSpeed"),
        (["--tpu", "show.py"], "asks for a TPU"),
        (["--mpirun_hostfile", "h", "show.py"], "mpirun -n 2 python script.py"),
        (["--config_file", "none.yaml", "show.py"], "There is no configuration file none.yaml."),
        (["--config_file", "list.yaml", "show.py"], "list.yaml holds a list."),
        (["--config_file", "broken.yaml", "show.py"], "broken.yaml is not YAML"),
        (["--config_file", "typo.yaml", "show.py"], "unknown key 'mixed_precison'. Did you mean mixed_precision?"),
        (["--config_file", "type.yaml", "show.py"], "num_processes in type.yaml is 'x'. It must be a whole number."),
        (["--config_file", "many.yaml", "show.py"], "num_processes in many.yaml asks for 4 processes"),
    ],
)
def test_mistakes(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    for name, text in {
        "list": "- 1",
        "broken": "a: [",
        "typo": "mixed_precison: bf16",
        "type": "num_processes: x",
        "many": "distributed_type: MULTI_GPU\nnum_processes: 4",
    }.items():
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HOME", str(folder))
    assert message in failure(capsys, *arguments)


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has mps")
def test_a_device_that_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mac.yaml").write_text("distributed_type: MPS")
    monkeypatch.chdir(folder)
    assert "asks for mps, but this machine runs Linux" in failure(capsys, "--config_file", "mac.yaml", "show.py")


def test_nonsense_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "perhaps")
    assert "variable ACCELERATE_USE_CPU is 'perhaps'" in failure(capsys, "show.py")


def test_the_help_is_grouped_and_hides_engines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["launch", "--help"])
    shown = capsys.readouterr().out
    for heading in ("Device and precision:", "Training:", "torch.compile:", "General:", "Several processes"):
        assert f"\n{heading}" in shown
    for hidden in ("deepspeed", "megatron", "--tpu", "aws_", "fsdp_version", "--mixed-precision", "$"):
        assert hidden not in shown


def cpu_seconds(command: list[str], folder: Path) -> float:
    """The least CPU time of some runs of a command, children included."""
    best = float("inf")
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=clean_environment(folder), capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


@pytest.mark.parametrize("arguments", [["--help"], ["launch", "empty.py"]])
def test_it_starts_fast(folder: Path, arguments: list[str]) -> None:
    (folder / "empty.py").touch()
    bare = cpu_seconds([sys.executable, "empty.py"], folder)
    ours = cpu_seconds([*START, *arguments], folder)
    assert ours - bare < 0.25


def test_the_working_folder_may_be_gone(folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    process = subprocess.run(
        ["sh", "-c", f'rmdir "{gone}"; exec "$@"', "sh", *START, "launch", str(folder / "none.py")],
        cwd=gone, env={**clean_environment(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr.startswith("accelerate: error: There is no script")


def test_a_simulated_device_runs_the_script_as_python_does(folder: Path) -> None:
    pytest.importorskip("mps_simulator")
    done = accelerate("launch", "--simulate", "mps", "--dry-run", "show.py", "a b", home=folder)
    assert shlex.split(done.stdout)[2:] == ["-m", "mps_simulator", "show.py", "a b"]
    (folder / "device.py").write_text("from accelerate import Accelerator\nprint(Accelerator().device)\n")
    done = accelerate("launch", "--simulate", "mps", "device.py", home=folder)
    assert (done.stdout, done.returncode) == ("mps\n", 0), done.stderr
    assert done.stderr.count("mps-simulator: mps is simulated") == 1


def test_an_unknown_device_cannot_be_simulated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = failure(capsys, "--simulate", "tpu", str(folder / "show.py"))
    assert "--simulate is 'tpu'. It must be one of: mps." in line
