"""Loads the device into the process, between the libraries of PyTorch that it needs and those that it must precede."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress

from mps_simulator.build import Built
from mps_simulator.installed import Torch
from mps_simulator.settings import Settings

# What PyTorch says when it finds that the place of its CUDA code is taken.
_EXPECTED = b"Higher priority item already registered"


def preload(torch: Torch, built: Built, settings: Settings) -> ctypes.CDLL:
    """Register the device. Must run before PyTorch is imported, and then does the loading of its libraries.

    Returns:
        The library of the device.
    """
    # As PyTorch does it: without it, its libraries do not find those of the CUDA wheels.
    with suppress(OSError):
        ctypes.CDLL(str(torch.libraries / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(torch.libraries / "libtorch_cpu.so"))
    device = ctypes.CDLL(str(built.library))
    _describe(device, torch, built, settings)
    with _without_expected_lines():
        ctypes.CDLL(str(torch.libraries / "libtorch.so"))
    return device


def _describe(device: ctypes.CDLL, torch: Torch, built: Built, settings: Settings) -> None:
    size, unsigned, text = ctypes.c_size_t, ctypes.c_uint, ctypes.c_char_p
    device.mps_simulator_set_machine.argtypes = [size, size, unsigned, unsigned, text]
    device.mps_simulator_set_operators.argtypes = [text]
    device.mps_simulator_set_machine(
        settings.recommended_memory, settings.max_buffer, *settings.macos, torch.commit.encode()
    )
    device.mps_simulator_set_operators(built.operators.read_bytes())


@contextmanager
def _without_expected_lines() -> Generator[None]:
    """Keep one known line from the user. Whatever else is written to stderr meanwhile appears at the end."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            caught.seek(0)
            lines = [line for line in caught if _EXPECTED not in line]
            os.write(2, b"".join(lines))
