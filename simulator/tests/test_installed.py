from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
import yaml

from mps_simulator.errors import SimulatorError
from mps_simulator.installed import Torch, find_torch, mps_operators


def write_torch(folder: Path, version: str, table: str | None = None) -> None:
    (folder / "torch").mkdir()
    (folder / "torch/__init__.py").touch()
    (folder / "torch/version.py").write_text(f"__version__ = '{version}'\ngit_version = 'abc'\n")
    if table is not None:
        path = folder / "torchgen/packaged/ATen/native/native_functions.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(table)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which alone packages are looked for."""
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    return tmp_path


def test_the_installed_torch_is_found() -> None:
    found = find_torch()
    assert found.version == torch.__version__
    assert found.commit == torch.version.git_version
    assert (found.libraries / "libtorch_cpu.so").is_file()


def test_torch_must_be_there(elsewhere: Path) -> None:
    with pytest.raises(SimulatorError, match="PyTorch is not installed"):
        find_torch()


@pytest.mark.parametrize("version", ["2.13.1", "1.13.0", "strange"])
def test_an_old_torch_is_refused(elsewhere: Path, version: str) -> None:
    write_torch(elsewhere, version)
    with pytest.raises(SimulatorError, match=rf"PyTorch {version} is too old .* 2\.14 or later"):
        find_torch()


@pytest.mark.parametrize("version", ["2.14.0", "2.14.1+cpu", "3.0.0a0+git1"])
def test_newer_ones_are_taken(elsewhere: Path, version: str) -> None:
    write_torch(elsewhere, version)
    assert find_torch().version == version


def test_a_missing_table_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"table of operators cannot be read: .*native_functions\.yaml"):
        mps_operators(Torch(tmp_path / "torch", "2.14.1", ""))


def test_the_table_is_read_as_yaml_reads_it() -> None:
    installed = find_torch()
    table = installed.folder.parent / "torchgen/packaged/ATen/native/native_functions.yaml"
    entries = yaml.load(table.read_text(), Loader=yaml.CSafeLoader)
    backends = {
        entry["func"].partition("(")[0]: {key.strip() for row in entry.get("dispatch", {}) for key in row.split(",")}
        for entry in entries
    }
    expected = {
        entry["func"].partition("(")[0]
        for entry in entries
        if "MPS" in backends[entry["func"].partition("(")[0]]
        or "MPS" in backends.get(entry.get("structured_delegate", ""), ())
    }
    found = mps_operators(installed)
    assert len(found) == len(set(found)) > 549
    assert set(found) == expected
    assert {"add.Tensor", "add.out", "addmm", "silu_"} <= set(found)
    assert not {"linalg_eig", "take", "_fused_adagrad_"} & set(found)
