"""Which processes are simulated, and that the others are left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import NOTICE, python, simulated

LOADER = """
import sys, torch
from torch.utils.data import DataLoader, Dataset

class Devices(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return torch.backends.mps.is_available()

if __name__ == "__main__":
    torch.ones(1, device="mps")
    loader = DataLoader(Devices(), num_workers=2, multiprocessing_context=sys.argv[1])
    print([batch.to("mps").tolist() for batch in loader])
"""
WORKER = """
import os, torch
print(os.environ["RANK"] + " " + str(torch.ones(2, device="mps")) + "\\n", end="", flush=True)
"""


@pytest.mark.parametrize("start", ["spawn", "fork", "forkserver"])
def test_workers_of_a_loader(tmp_path: Path, start: str) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    done = python("-W", "ignore", "-m", "mps_simulator", "load.py", start, cwd=tmp_path)
    assert done.stdout.strip() == "[[True], [True]]", done.stderr
    assert done.stderr == NOTICE


def test_workers_of_torchrun(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORKER)
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "work.py"]
    done = python("-m", "mps_simulator", *run, cwd=tmp_path)
    assert sorted(done.stdout.splitlines()) == [f"{rank} tensor([1., 1.], device='mps:0')" for rank in (0, 1)]
    assert done.stderr.count("mps-simulator") == 1


def test_programs_in_other_folders(tmp_path: Path) -> None:
    call = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {WORKER!r}], cwd='/', check=True)"
    assert simulated(call, env={"RANK": "5"}) == "5 tensor([1., 1.], device='mps:0')"


def test_the_machine_is_the_same_in_children() -> None:
    inner = "import torch; print(torch.mps.recommended_max_memory(), torch.backends.mps.get_name())"
    code = f"""
import subprocess, mps_simulator
mps_simulator.activate(memory="64GB", chip="M3 Max", quiet=True)
subprocess.run([{sys.executable!r}, "-c", {inner!r}], check=True)
"""
    done = python("-c", code)
    assert (done.stdout, done.stderr) == (f"{48 << 30} Apple M3 Max\n", "")


def test_a_plain_python_is_left_alone() -> None:
    show = "import sys; print([name for name in sys.modules if name.startswith('mps_simulator')], len(sys.meta_path))"
    done, bare = python("-c", show), python("-S", "-c", show)
    assert done.stdout.startswith("[] ")
    assert bare.stdout.startswith("[] ")
    assert python("-c", "import torch; print(torch.backends.mps.is_available())").stdout == "False\n"


@pytest.mark.parametrize("value", ["", "0", "no"])
def test_only_1_switches_it_on(value: str) -> None:
    show = "import mps_simulator; print(mps_simulator.active())"
    assert python("-c", show, env={"MPS_SIMULATOR": value}).stdout == "None\n"


def test_a_program_without_torch_pays_little() -> None:
    code = "import sys; print(sorted(name for name in sys.modules if name.startswith(('mps_simulator', 'typing'))))"
    assert simulated(code) == "['mps_simulator', 'mps_simulator.startup']"


def test_torch_must_not_be_there_before() -> None:
    done = python("-c", "import torch, mps_simulator; mps_simulator.activate()")
    assert done.stderr.strip().endswith("torch is already imported; the simulated mps must be activated before that.")


def test_activating_again_changes_nothing() -> None:
    code = """
import mps_simulator
first = mps_simulator.activate(memory="8GB", quiet=True)
import torch
print(mps_simulator.activate() == first == mps_simulator.active(), torch.ones(1, device="mps").item())
mps_simulator.activate(memory="16GB")
"""
    done = python("-c", code)
    assert done.stdout == "True 1.0\n"
    assert "simulates Settings(memory=8589934592" in done.stderr


def test_importing_torch_says_nothing() -> None:
    done = python("-c", "import torch", env={"MPS_SIMULATOR": "1"})
    assert (done.stdout, done.stderr) == ("", "")
