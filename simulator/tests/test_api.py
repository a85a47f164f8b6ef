from __future__ import annotations

import time

import pytest
import torch

MPS = torch.device("mps")


def test_what_there_is() -> None:
    backend = torch.backends.mps
    assert (backend.is_built(), backend.is_available(), torch.mps.is_available(), torch.mps.device_count()) == (
        *(True, True, True, 1),
    )
    assert (backend.get_name(), backend.get_core_count()) == ("Apple M2", 10)
    assert backend.is_macos13_or_newer()
    assert backend.is_macos_or_newer(15, 0)
    assert not backend.is_macos_or_newer(15, 1)
    assert not backend.is_macos_or_newer(26, 0)


def test_the_accelerator() -> None:
    accelerator = torch.accelerator
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == MPS
    assert (accelerator.device_count(), accelerator.current_device_index()) == (1, 0)
    accelerator.synchronize()
    accelerator.empty_cache()
    assert accelerator.current_stream().device == torch.device("mps", 0)
    assert torch.float64 not in accelerator.get_device_capability()["supported_dtypes"]


def test_a_mac_has_no_cuda() -> None:
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert torch.version.cuda is None
    assert not torch.backends.cuda.is_built()


def test_every_public_name_of_the_module_is_there() -> None:
    assert all(hasattr(torch.mps, name) for name in torch.mps.__all__)
    torch.mps.synchronize()
    torch.mps.empty_cache()
    assert torch.mps.recommended_max_memory() == (16 << 30) * 2 // 3


def torch_event(enable_timing: bool) -> torch.Event:
    return torch.Event("mps", enable_timing=enable_timing)


@pytest.mark.parametrize("make", [torch.mps.Event, torch_event])
def test_events_measure_time(make: type[torch.mps.Event]) -> None:
    start, end = make(enable_timing=True), make(enable_timing=True)
    start.record()
    time.sleep(0.02)
    end.record()
    end.synchronize()
    end.wait()
    assert end.query()
    assert 20 <= start.elapsed_time(end) < 2000


def test_events_that_were_not_recorded_have_no_time() -> None:
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="was not recorded"):
        start.elapsed_time(end)
    untimed = torch.mps.Event()
    untimed.record()
    with pytest.raises(RuntimeError, match="without enable_timing=True"):
        untimed.elapsed_time(untimed)


def test_streams() -> None:
    stream = torch.Stream("mps")
    with stream:
        assert torch.ones(1, device=MPS).item() == 1
    stream.synchronize()
    assert stream.query()


def test_the_profiler_says_that_it_does_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with torch.mps.profiler.profile():
        torch.ones(1, device=MPS)
    assert capfd.readouterr().err.count("there is nothing to trace") == 1
    assert not torch.mps.profiler.is_metal_capture_enabled()
    assert not torch.mps.profiler.is_capturing_metal()
    with pytest.raises(RuntimeError, match="no Metal"), torch.mps.profiler.metal_capture("it"):
        pass


def test_the_profiler_of_torch_sees_operators() -> None:
    with torch.profiler.profile() as profile:
        torch.ones(2, device=MPS).exp()
    assert "aten::exp" in {event.key for event in profile.key_averages()}


def test_memory_can_be_reached_from_the_cpu_without_a_copy() -> None:
    there = torch.arange(6.0, device=MPS).view(2, 3)
    storage = torch.mps._host_alias_storage(there.untyped_storage())
    here = torch.empty(0).set_(storage, 0, there.shape, there.stride())
    assert here.device.type == "cpu"
    here[1, 2] = 9
    there[0, 0] = 8
    assert (there[1, 2].item(), here[0, 0].item()) == (9, 8)
    del there, storage
    assert here.tolist() == [[8, 1, 2], [3, 4, 9]]
    assert torch.mps._host_alias_storage(torch.empty(0, device=MPS).untyped_storage()).nbytes() == 0
    with pytest.raises(RuntimeError, match="expected a storage on mps"):
        torch.mps._host_alias_storage(torch.ones(1).untyped_storage())


def test_storages() -> None:
    storage = torch.UntypedStorage(16, device="mps")
    assert (storage.device.type, storage.nbytes()) == ("mps", 16)
    assert torch.UntypedStorage(b"abc", device="mps").cpu().tolist() == [97, 98, 99]
    assert torch.UntypedStorage(4).device.type == "cpu"
    assert torch.arange(2).untyped_storage().mps().device.type == "mps"
