"""The part of `torch.mps` and its neighbours that a PyTorch for Linux leaves out."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import Any, NoReturn

from mps_simulator.settings import Settings


def install(torch: ModuleType, settings: Settings) -> None:
    """Complete a freshly imported torch so that it looks as on the Mac of `settings`."""
    core = torch._C
    core._has_mps = True
    core._mps_get_name = lambda: settings.chip
    core._mps_get_core_count = lambda: settings.cores
    core._mps_host_alias_storage = _host_alias_storage
    core._mps_compileShader = _no_metal
    core._mps_loadMetalllib = _no_metal
    core._mps_loadMetallibFromPath = _no_metal
    core._mps_isCaptureEnabled = lambda: False
    core._mps_isCapturing = lambda: False
    core._mps_startCapture = _no_metal
    core._mps_stopCapture = lambda: None
    core._mps_profilerStartTrace = _no_trace
    _let_storages_be_made(torch)
    _hide_cuda(torch)


def _hide_cuda(torch: ModuleType) -> None:
    """A Mac has no CUDA, whatever this machine and this PyTorch have."""
    torch._C._has_cuda = False
    if hasattr(torch._C, "_cuda_getDeviceCount"):
        torch._C._cuda_getDeviceCount = lambda: 0
    torch.version.cuda = None


def _let_storages_be_made(torch: ModuleType) -> None:
    """Storages of the device by themselves, which a PyTorch for Linux makes for no device that it was not built for."""
    base = torch._C.StorageBase
    share = torch.UntypedStorage._share_fd_cpu_

    def new(cls: type, *args: object, **kwargs: object) -> object:
        device = kwargs.get("device")
        if device is None or torch.device(device).type != "mps":
            return base.__new__(cls, *args, **kwargs)
        return _storage_of(torch, args[0] if args else 0)

    def share_fd_cpu(self: Any, *args: object, **kwargs: object) -> object:
        if self.device.type == "mps":
            # macOS shares by file name, and this is its refusal.
            raise RuntimeError("_share_filename_: only available on CPU")
        return share(self, *args, **kwargs)

    torch.UntypedStorage.__new__ = new
    torch.UntypedStorage._share_fd_cpu_ = share_fd_cpu


def _storage_of(torch: ModuleType, content: Any) -> Any:
    """A storage of so many bytes, or of these bytes."""
    if isinstance(content, int):
        return torch.empty(content, dtype=torch.uint8, device="mps").untyped_storage()
    return torch.tensor(list(content), dtype=torch.uint8, device="mps").untyped_storage()


def _no_metal(*_: object) -> NoReturn:
    raise RuntimeError("The mps device is simulated, and has no Metal: shaders cannot be compiled, loaded or captured.")


def _no_trace(mode: str, wait_until_completed: bool) -> None:
    print("mps-simulator: there is nothing to trace: the mps device is simulated.", file=sys.stderr)


def _host_alias_storage(storage: Any) -> Any:
    """A CPU storage over the same memory, which keeps the other one alive."""
    import torch

    if storage.device.type != "mps":
        raise RuntimeError(f"_host_alias_storage: expected a storage on mps, but it is on {storage.device}")
    if storage.nbytes() == 0:
        return torch.UntypedStorage(0)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    memory._kept_alive = storage
    return torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
