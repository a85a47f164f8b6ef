from __future__ import annotations

import shutil
from pathlib import Path
from zipfile import ZipFile

from programs import python

PROJECT = Path(__file__).parent.parent
HOOK = "mps_simulator_startup.pth"


def test_the_wheel_is_pure_and_holds_sources_and_hook(tmp_path: Path) -> None:
    copied = tmp_path / "simulator"
    shutil.copytree(PROJECT, copied, ignore=shutil.ignore_patterns("tests", "build", "*.egg-info"))
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    done = python("-m", "pip", "wheel", "-q", *options, "-w", str(tmp_path), str(copied))
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with ZipFile(wheel) as opened:
        names = set(opened.namelist())
        hook = opened.read(HOOK)
    sources = {f"mps_simulator/csrc/{path.name}" for path in (PROJECT / "src/mps_simulator/csrc").iterdir()}
    assert {HOOK, "mps_simulator/py.typed", *sources} <= names
    assert hook == (PROJECT / HOOK).read_bytes()
    assert not [name for name in names if name.endswith((".so", ".o"))]
