from __future__ import annotations

import pytest

from mps_simulator.errors import SimulatorError
from mps_simulator.settings import GIB, GPU_CORES, Settings, settings


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * GIB),
        ("8 GiB", 8 * GIB),
        ("16g", 16 * GIB),
        ("1.5t", 1536 * GIB),
        ("4096MB", 4 * GIB),
        (str(GIB), GIB),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert settings({}, memory=text).memory == size


@pytest.mark.parametrize("text", ["", "8XB", "GB", "-8GB", "8 GB 2", "0", "512MB", "8GBB", "1e9"])
def test_what_is_not_a_size_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SimulatorError, match=r"^--memory is .* it must be a size of at least 1GB, such as 8GB\.$"):
        settings({}, memory=text)


@pytest.mark.parametrize(
    ("text", "version"), [("14", (14, 0)), ("14.5", (14, 5)), ("15.3.1", (15, 3)), ("26.2", (26, 2))]
)
def test_versions(text: str, version: tuple[int, int]) -> None:
    assert settings({}, macos=text).macos == version


@pytest.mark.parametrize("text", ["13.6", "Sonoma", "14.", "v15", ""])
def test_versions_that_torch_does_not_run_on_are_refused(text: str) -> None:
    with pytest.raises(SimulatorError, match="must be a version of macOS"):
        settings({}, macos=text)


@pytest.mark.parametrize("text", ["Apple M2 Pro", "apple m2 pro", "M2 Pro", " m2 pro "])
def test_chips(text: str) -> None:
    chosen = settings({}, chip=text)
    assert (chosen.chip, chosen.cores) == ("Apple M2 Pro", 19)


def test_unknown_chips_are_refused() -> None:
    with pytest.raises(SimulatorError, match=r"--chip is 'H200'; it must be one of: M1, M1 Pro, .*\.$"):
        settings({}, chip="H200")


@pytest.mark.parametrize(
    ("gib", "recommended"), [(8, 8 * GIB * 2 // 3), (36, 24 * GIB), (64, 48 * GIB), (128, 96 * GIB)]
)
def test_metal_recommends_a_part_of_the_memory(gib: int, recommended: int) -> None:
    assert Settings(memory=gib * GIB).recommended_memory == recommended


def test_a_flag_goes_before_a_variable_and_a_variable_before_the_default() -> None:
    environment = {"MPS_SIMULATOR_MEMORY": "8GB", "MPS_SIMULATOR_CHIP": "M1"}
    assert settings(environment, memory="32GB") == Settings(memory=32 * GIB, chip="Apple M1")
    with pytest.raises(SimulatorError, match=r"^MPS_SIMULATOR_MEMORY is 'much'"):
        settings({"MPS_SIMULATOR_MEMORY": "much"})


@pytest.mark.parametrize("chip", GPU_CORES)
def test_another_process_gets_the_same_mac(chip: str) -> None:
    chosen = Settings(memory=24 * GIB + 1, macos=(14, 7), chip=chip)
    assert settings(chosen.variables()) == chosen
