"""Questions about installed libraries are answered without importing them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from accelerate.errors import ConfigError
from accelerate.machine import packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    packages.installed.cache_clear()
    yield
    packages.installed.cache_clear()


def _package(folder: Path, name: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("raise RuntimeError('imported')")
    metadata = folder / f"{name}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(folder)


def test_an_installed_package_is_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not packages.is_clearml_available()
    packages.installed.cache_clear()
    _package(tmp_path, "clearml", "1.0", monkeypatch)
    assert packages.is_clearml_available()


def test_a_folder_with_the_name_of_a_package_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not packages.is_wandb_available()


@pytest.mark.parametrize(("version", "stateful"), [("0.7.1", False), ("0.8.0", True), ("0.11.0", True)])
def test_minimum_versions(version: str, stateful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "torchdata", version, monkeypatch)
    assert packages.is_torchdata_available()
    assert packages.is_torchdata_stateful_dataloader_available() is stateful


def test_bitsandbytes_with_and_without_a_minimum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "bitsandbytes", "0.40.0", monkeypatch)
    assert packages.is_bnb_available()
    assert packages.is_bnb_available(min_version="0.40.0")
    assert not packages.is_bnb_available(min_version="0.41.0")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [(">", False), (">=", True), ("==", True), ("!=", False), ("<=", True), ("<", False)],
)
def test_comparisons(operation: str, expected: bool) -> None:
    assert packages.compare_versions(Version("2.0"), operation, "2.0.0") is expected


def test_torch_without_its_local_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "torch", "2.14.1+cu130", monkeypatch)
    assert packages.is_torch_version("==", "2.14.1")


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ConfigError, match="'=>'"):
        packages.compare_versions("torch", "=>", "2")


def test_a_missing_library_cannot_be_compared() -> None:
    with pytest.raises(PackageNotFoundError):
        packages.compare_versions("no_such_library", ">", "1")


def test_what_is_not_driven_is_not_available() -> None:
    assert not packages.is_undriven(check_device=True)


def test_imported_modules_are_known() -> None:
    assert packages.are_libraries_initialized("pytest", "no_such_module") == ["pytest"]


def test_torch_is_not_imported() -> None:
    code = """if True:
        import sys
        from accelerate.machine import packages
        packages.is_torch_version(">", "1")
        print("torch" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
