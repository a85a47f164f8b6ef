"""What the device tells while it runs: for the report at exit, and for what `--strict` refuses."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from types import FrameType, ModuleType

from mps_simulator import report
from mps_simulator.checkpoint_watch import CheckpointWatch
from mps_simulator.settings import Settings

# The process that reports where there is one report for several, as "rank:process".
_REPORTER = "MPS_SIMULATOR_REPORTER"

_Locate = ctypes.CFUNCTYPE(None)
_Synchronised = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_Drew = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)


class _Listener(ctypes.Structure):
    _fields_ = (("locate", _Locate), ("synchronised", _Synchronised), ("drew", _Drew))


def place(torch: ModuleType) -> str:
    """The innermost line, as "file:line", that is neither PyTorch's nor ours."""
    skipped = (os.path.dirname(str(torch.__file__)), os.path.dirname(__file__), "<frozen")
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(skipped):
        frame = frame.f_back
    if frame is None:
        return "the backward pass"
    name = frame.f_code.co_filename.removeprefix(os.getcwd() + os.sep)
    return f"{name}:{frame.f_lineno}"


class Watch:
    """The watch over the device of this process. It lasts until the process exits."""

    def __init__(self, device: ctypes.CDLL, torch: ModuleType, settings: Settings) -> None:
        self._device, self._torch, self._settings = device, torch, settings
        self._process, self._started = os.getpid(), time.time()
        self._kinds, self._lines = Counter[str](), Counter[str]()
        self._steps = self._at_first_step = self._at_last_step = 0
        device.mps_simulator_say.argtypes = [ctypes.c_char_p]
        device.mps_simulator_figures.restype = ctypes.c_char_p
        device.mps_simulator_watch.argtypes = [ctypes.c_int, _Listener]
        checkpoints = CheckpointWatch(self._say, device.mps_simulator_watch_draws, lambda: place(torch))
        self._listener = _Listener(_Locate(self._locate), self._synchronised_if_wanted(), _Drew(checkpoints.drew))
        device.mps_simulator_watch(settings.strict, self._listener)
        if settings.strict:
            checkpoints.install()
        if settings.report:
            import_module("torch.optim.optimizer").register_optimizer_step_post_hook(self._count_step)
        atexit.register(self._end, report.targets(settings.report, self._reports_for_all()))

    def _say(self, text: str) -> None:
        self._device.mps_simulator_say(text.encode())

    def _locate(self) -> None:
        self._say(place(self._torch))

    def _synchronised_if_wanted(self) -> Callable[..., None]:
        return _Synchronised(self._synchronised) if self._settings.report else _Synchronised()

    def _synchronised(self, how: bytes) -> None:
        self._kinds[how.decode()] += 1
        self._lines[place(self._torch)] += 1

    def _count_step(self, *_: object) -> None:
        self._steps += 1
        self._at_last_step = self._kinds.total()
        if self._steps == 1:
            self._at_first_step = self._at_last_step

    def _reports_for_all(self) -> bool:
        """Whether this process is the one that reports: the first to import torch, or the first worker of torchrun."""
        rank = os.environ.get("RANK", "")
        mine = f"{rank}:{os.getpid()}"
        if os.environ.get(_REPORTER, "").split(":")[0] != rank or _REPORTER not in os.environ:
            os.environ[_REPORTER] = mine
        return rank in ("", "0") and os.environ[_REPORTER] == mine

    def _end(self, targets: tuple[str, ...]) -> None:
        self._device.mps_simulator_stop_watching()
        if targets and os.getpid() == self._process:
            figures = self._device.mps_simulator_figures().decode()
            report.write(self._report(figures), targets, since=self._started)

    def _report(self, figures: str) -> report.Report:
        numbers = {name: int(number) for name, number in (line.split() for line in figures.splitlines())}
        return report.Report(
            operators=numbers["operators"],
            steps=self._steps,
            peak_memory_bytes=numbers["peak_memory_bytes"],
            waits=dict(self._kinds.most_common()),
            waits_between_steps=self._at_last_step - self._at_first_step,
            lines=tuple(self._lines.most_common(report.MOST_LINES)),
            fallbacks={name: number for name, number in numbers.items() if "::" in name},
            float64_refusals=numbers["float64_refusals"],
            out_of_memory_refusals=numbers["out_of_memory_refusals"],
            hazards=numbers["hazards"] if self._settings.strict else None,
        )
