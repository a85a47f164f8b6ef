"""`--report`: what is counted, where it goes, and which process writes it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mps_simulator.errors import SimulatorError
from mps_simulator.report import Report, targets, write
from mps_simulator.settings import settings
from programs import NOTICE, python

TRAINING = """
import torch
from torch import nn
model = nn.Linear(8, 8).to("mps")
optimizer = torch.optim.SGD(model.parameters())
for step in range(3):
    loss = model(torch.ones(4, 8).to("mps")).sum()
    loss.backward()
    optimizer.step()
    loss.item(), loss.detach().cpu()
mask = torch.tensor([True, False], device="mps")
torch.ones(2, device="mps")[mask]
torch.linalg.eigvals(torch.eye(2, device="mps"))
for size, dtype in ((1, torch.float64), (1 << 34, torch.float32)):
    try:
        torch.empty(size, dtype=dtype, device="mps")
    except (TypeError, RuntimeError):
        pass
torch.empty(1 << 20, dtype=torch.uint8, device="mps")
torch.mps.synchronize()
"""
WORKER = """
import os, torch
if os.environ["RANK"] == "0":
    torch.ones(1, device="mps").item()
"""
SMALL = 'import torch\ntorch.ones(1, device="mps").item()\n'


def test_what_is_counted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    env = {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    run = ["-W", "ignore", "-m", "mps_simulator", "--report", "--report-json", "report.json", "train.py"]
    done = python(*run, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report.pop("operators") > 30
    peak = report.pop("peak_memory_bytes")
    assert 1 << 20 < peak < (1 << 20) + 10_000
    assert report == {
        "steps": 3,
        "synchronisations": {
            "total": 9,
            "per_step": 2.0,
            "kinds": {"item": 3, "copy to the host": 3, "index by a mask": 1, "fallback": 1, "synchronize": 1},
            "lines": [
                {"line": "train.py:10", "count": 6},
                {"line": "train.py:12", "count": 1},
                {"line": "train.py:13", "count": 1},
                {"line": "train.py:20", "count": 1},
            ],
        },
        "fallbacks": {"aten::_linalg_eigvals": 1},
        "float64_refusals": 1,
        "out_of_memory_refusals": 1,
        "hazards": None,
    }
    text = done.stderr.removeprefix(NOTICE)
    assert re.search(r"host synchronisations +9, 2 a step\n", text)
    assert re.search(r"  at train.py:10 +6\n", text)
    assert re.search(r"peak memory +1\.\d+ MB\n", text)
    assert re.search(r"strict hazards +not looked for\n", text)


def test_a_program_that_fails_is_reported_with_its_hazards(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text('import torch\ntorch.ones(2).to("mps", non_blocking=True) + 1\n')
    done = python("-m", "mps_simulator", "--strict", "--report-json", "report.json", "late.py", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads((tmp_path / "report.json").read_text())["hazards"] == 1
    assert "mps-simulator: report" not in done.stderr


def test_of_a_program_and_its_children_the_program_reports(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SMALL!r}], check=True)"
    (tmp_path / "parent.py").write_text(f"{SMALL}torch.ones(1, device='mps').item()\n{child}\n")
    env = {"MPS_SIMULATOR": "1", "MPS_SIMULATOR_REPORT": "text,all.json,{pid}.json"}
    done = python("parent.py", cwd=tmp_path, env=env)
    assert done.stderr.count("mps-simulator: report") == 1, done.stderr
    assert json.loads((tmp_path / "all.json").read_text())["synchronisations"]["total"] == 2
    each = [json.loads(path.read_text()) for path in tmp_path.glob("[0-9]*.json")]
    assert sorted(report["synchronisations"]["total"] for report in each) == [1, 2]


def test_of_torchrun_the_first_worker_reports(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORKER)
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "work.py"]
    done = python("-m", "mps_simulator", "--report-json", "report.json", *run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["synchronisations"]["total"] == 1


def test_without_the_option_nothing_is_reported(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL)
    done = python("-m", "mps_simulator", "small.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, NOTICE)
    assert [path.name for path in tmp_path.iterdir()] == ["small.py"]


@pytest.mark.parametrize("path", ["missing/report.json", "."])
def test_a_path_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path, path: str) -> None:
    done = python("-m", "mps_simulator", "--report-json", path, "x.py", cwd=tmp_path)
    problem = "it must be the path of a file, in a folder that exists."
    assert (done.returncode, done.stderr) == (2, f"mps-simulator: --report-json is {path!r}; {problem}\n")


@pytest.mark.parametrize("text", ["text,", ",text"])
def test_a_bad_variable_is_named(text: str) -> None:
    with pytest.raises(SimulatorError, match=r"^MPS_SIMULATOR_REPORT is '"):
        settings({"MPS_SIMULATOR_REPORT": text})


@pytest.mark.parametrize(("text", "meant"), [("", ""), ("0", ""), ("1", "text"), ("text", "text")])
def test_switches(text: str, meant: str) -> None:
    assert settings({"MPS_SIMULATOR_REPORT": text}).report == meant


def test_paths_hold_when_the_program_changes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings({}, report="text,a.json").report == f"text,{tmp_path / 'a.json'}"


def _report(operators: int = 1, steps: int = 0, peak: int = 0) -> Report:
    return Report(
        operators=operators,
        steps=steps,
        peak_memory_bytes=peak,
        waits={"item": 12},
        waits_between_steps=10,
        lines=(("a.py:1", 12),),
        fallbacks={},
        float64_refusals=0,
        out_of_memory_refusals=0,
        hazards=0,
    )


@pytest.mark.parametrize(("steps", "mean"), [(0, None), (1, None), (2, 10), (5, 2.5)])
def test_waits_per_step(steps: int, mean: float | None) -> None:
    assert _report(steps=steps).waits_per_step == mean
    assert (", " in _report(steps=steps).as_text().split("synchronisations")[1].split("\n")[0]) is (mean is not None)


@pytest.mark.parametrize(
    ("peak", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KB"), (3 << 30, "3 GB"), (5 << 40, "5 TB")]
)
def test_sizes_have_units(peak: int, text: str) -> None:
    assert re.search(rf"peak memory +{text}\n", _report(peak=peak).as_text())


def test_targets_of_processes() -> None:
    mine = f"/r/{os.getpid()}.json"
    assert targets("text,/r/all.json,/r/{pid}.json", for_all=True) == ("text", "/r/all.json", mine)
    assert targets("text,/r/all.json,/r/{pid}.json", for_all=False) == (mine,)
    assert targets("", for_all=True) == ()


def test_an_idle_process_leaves_the_file_of_another_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write(_report(), (str(path),), since=0)
    now = path.stat().st_mtime
    write(_report(operators=0), (str(path),), since=now)
    assert json.loads(path.read_text())["operators"] == 1
    write(_report(operators=0), (str(path),), since=now + 1)
    assert json.loads(path.read_text())["operators"] == 0


def test_a_report_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(_report(), (str(tmp_path / "gone" / "r.json"),), since=0)
    assert capsys.readouterr().err.startswith("mps-simulator: the report cannot be written to ")
