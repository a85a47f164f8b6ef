from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accelerate.launch.child import run
from accelerate.launch.command import Command


def python(code: str, **env: str) -> Command:
    return Command((sys.executable, "-c", code), env)


def test_success_passes_output_and_variables_on(capfd: pytest.CaptureFixture[str]) -> None:
    run(python("import os, sys; print(os.environ['X']); print('careful', file=sys.stderr)", X="7"), os.environ)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("7\n", "careful\n")


def test_failure_tells_status_and_last_words(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('x\\n' * 1000, file=sys.stderr); sys.stderr.write('the end'); sys.exit(7)"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run(python(code), os.environ)
    assert caught.value.returncode == 7
    assert caught.value.stderr.endswith("the end")
    assert caught.value.stderr.count("\n") < 50
    assert capfd.readouterr().err.count("x\n") == 1000


def test_a_signal_is_a_failure() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run(python("import os; os.kill(os.getpid(), 9)"), os.environ)
    assert caught.value.returncode == -signal.SIGKILL


def test_sigterm_goes_to_the_child_and_handlers_come_back(tmp_path: Path) -> None:
    outer = (
        "import os, subprocess, sys\n"
        "from accelerate.launch.child import run\n"
        "from accelerate.launch.command import Command\n"
        "inner = 'import signal, sys, time\\n'\n"
        "inner += 'signal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\\n'\n"
        "inner += 'open(%r, \"w\").close()\\n' % sys.argv[1]\n"
        "inner += 'time.sleep(60)'\n"
        "try:\n"
        "    run(Command((sys.executable, '-c', inner), {}), os.environ)\n"
        "except subprocess.CalledProcessError as error:\n"
        "    print('child ended with', error.returncode)\n"
    )
    ready = tmp_path / "ready"
    parent = subprocess.Popen([sys.executable, "-c", outer, str(ready)], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.terminate()
    assert parent.communicate(timeout=30)[0] == "child ended with 5\n"


def test_handlers_are_put_back() -> None:
    before = (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
    run(python("pass"), os.environ)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_letters_of_several_bytes_survive_being_cut(capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        "import os, time\n"
        "data = 'ü'.encode()\n"
        "os.write(2, data[:1])\n"
        "time.sleep(0.2)\n"
        "os.write(2, data[1:])\n"
    )  # fmt: skip
    run(python(code), os.environ)
    assert capfd.readouterr().err == "ü"
