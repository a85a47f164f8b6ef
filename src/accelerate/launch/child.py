"""Running a command as a child, for programs that call the launcher and carry on afterwards."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from types import FrameType
from typing import IO

from accelerate.launch.command import Command

_TAIL_LINES = 40


def run(command: Command, env: Mapping[str, str]) -> None:
    """Run the command as a child and wait, for callers that carry on afterwards.

    Its output goes where this process's goes. Ctrl-C and SIGTERM are left to the child, which may finish its
    work.

    Raises:
        subprocess.CalledProcessError: The child failed. `returncode` is its status, `stderr` holds the last
            lines that it wrote there; empty on a terminal, where the child writes by itself.
    """
    piped = not sys.stderr.isatty()
    child = subprocess.Popen(command.argv, env={**env, **command.env}, stderr=subprocess.PIPE if piped else None)
    tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
    with child, _SignalsGoTo(child):
        if child.stderr is not None:
            _copy(child.stderr, tail)
        status = child.wait()
    if status != 0:
        text = b"".join(tail).decode(errors="replace")
        raise subprocess.CalledProcessError(status, command.argv, stderr=text)


def _copy(source: IO[bytes], tail: deque[bytes]) -> None:
    """Pass on what the child writes to stderr as it comes, and keep the last lines."""
    text = codecs.getincrementaldecoder("utf-8")(errors="replace")
    line = b""
    while chunk := os.read(source.fileno(), 65536):
        sys.stderr.write(text.decode(chunk))
        sys.stderr.flush()
        *complete, line = (line + chunk).splitlines(keepends=True)[-_TAIL_LINES:] or [b""]
        tail.extend(complete)
    tail.append(line)


class _SignalsGoTo:
    """While it is entered, SIGTERM goes on to the child, and SIGINT is ignored: a terminal gives it to both.

    Python allows this in the main thread only; elsewhere it does nothing.
    """

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child
        self.main = threading.current_thread() is threading.main_thread()

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self.child.send_signal(number)

    def __enter__(self) -> None:
        if self.main:
            self.before = (
                signal.signal(signal.SIGTERM, self._forward),
                signal.signal(signal.SIGINT, signal.SIG_IGN),
            )

    def __exit__(self, *error: object) -> None:
        if self.main:
            # None stands for a handler that C code has set, and that Python cannot put back.
            signal.signal(signal.SIGTERM, self.before[0] or signal.SIG_DFL)
            signal.signal(signal.SIGINT, self.before[1] or signal.SIG_DFL)
