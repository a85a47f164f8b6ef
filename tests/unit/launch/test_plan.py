from __future__ import annotations

from pathlib import Path

import pytest

import machines
from accelerate.errors import ConfigError, DeviceError, LaunchError
from accelerate.launch.plan import LaunchPlan, Target, plan
from accelerate.machine.facts import Machine
from accelerate.machine.probe import probe
from accelerate.settings.files import ConfigFile
from accelerate.settings.resolve import resolve
from accelerate.settings.sections import knobs

FILE = Path("/me/default_config.yaml")
TARGET = Target("train.py", ("--lr", "1"))
CUDA = {"version": "2.14.1+cu130", "cuda": "13.0"}


@pytest.fixture
def mac(tmp_path: Path) -> Machine:
    torch = machines.install_torch(tmp_path / "mac", library=machines.dylib(mps=True, macos=(14, 0)))
    return probe({}, machines.mac(torch=torch))


@pytest.fixture
def box(tmp_path: Path) -> Machine:
    torch = machines.install_torch(tmp_path / "box", "2.14.1+cpu")
    return probe({}, machines.linux(tmp_path / "box", torch=torch))


@pytest.fixture
def cuda(tmp_path: Path) -> Machine:
    torch = machines.install_torch(tmp_path / "cuda", **CUDA)
    return probe({}, machines.linux(tmp_path / "cuda", gpus=1, torch=torch))


@pytest.fixture
def cluster(tmp_path: Path) -> Machine:
    torch = machines.install_torch(tmp_path / "cluster", **CUDA)
    return probe({}, machines.linux(tmp_path / "cluster", gpus=4, torch=torch))


def make(
    machine: Machine,
    flags: dict[str, object] | None = None,
    file: dict[str, object] | None = None,
    env: dict[str, str] | None = None,
) -> LaunchPlan:
    resolved = resolve(flags=flags, file=ConfigFile(FILE, file) if file else None, env=env)
    return plan(resolved.settings, resolved.provenance, machine, TARGET)


def test_a_mac_uses_mps_without_being_asked(mac: Machine) -> None:
    made = make(mac)
    assert made.device == "mps"
    assert made.target == TARGET
    assert (made.processes, made.machines) == (1, 1)
    assert made.variables == made.gentle_variables == {}
    assert made.warnings == ()
    assert made.choices[0].what == "device"
    assert "Apple M1" in made.choices[0].why


def test_a_box_without_gpu_uses_the_cpu_in_silence(box: Machine) -> None:
    made = make(box)
    assert (made.device, made.warnings) == ("cpu", ())
    assert made.choices[0].why == "no NVIDIA GPU was found"


@pytest.mark.parametrize(
    ("flags", "file", "env", "said"),
    [
        ({"device.cpu": True}, {}, {}, "--cpu was given"),
        ({}, {"device.cpu": True}, {}, f"use_cpu is true in {FILE}"),
        ({}, {}, {"ACCELERATE_USE_CPU": "yes"}, "variable ACCELERATE_USE_CPU"),
    ],
)
def test_every_way_to_the_cpu_is_said_on_a_mac(
    mac: Machine, flags: dict[str, object], file: dict[str, object], env: dict[str, str], said: str
) -> None:
    made = make(mac, flags, file, env)
    assert made.device == "cpu"
    assert len(made.warnings) == 1
    assert said in made.warnings[0]


def test_cpu_is_no_news_without_a_gpu(box: Machine) -> None:
    assert make(box, {"device.cpu": True}).warnings == ()


@pytest.mark.parametrize(
    ("why", "source"),
    [
        ("Rosetta", {"python_arch": "x86_64"}),
        ("not installed", {"torch": None}),
        ("older than 14.0", {"macos": "13.6"}),
        ("without MPS", {"library": machines.dylib(mps=False, macos=(11, 0))}),
    ],
)
def test_a_mac_without_mps_says_why(tmp_path: Path, why: str, source: dict[str, object]) -> None:
    library = source.pop("library", machines.dylib(mps=True, macos=(14, 0)))
    torch = machines.install_torch(tmp_path, library=library)  # pyrefly: ignore
    made = make(probe({}, machines.mac(**{"torch": torch, **source})))  # pyrefly: ignore
    assert made.device == "cpu"
    assert why in made.choices[0].why
    assert len(made.warnings) == 1
    assert why in made.warnings[0]


def test_fallback_is_set_gently_and_only_on_mps(mac: Machine, box: Machine) -> None:
    asked: dict[str, object] = {"device.mps_fallback": True}
    made = make(mac, asked)
    assert made.gentle_variables == {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    assert made.variables == {"ACCELERATE_MPS_FALLBACK": "true"}
    for other in (make(box, asked), make(mac, {**asked, "device.cpu": True})):
        assert other.gentle_variables == {}
        assert any("--mps_fallback has no effect on cpu" in line for line in other.warnings)


def test_only_flags_and_file_become_variables(box: Machine) -> None:
    made = make(
        box,
        {"precision.mixed_precision": "bf16", "training.gradient_accumulation_steps": "4"},
        {"compile.backend": "INDUCTOR", "device.cpu": False, "debug.debug": True},
        {"ACCELERATE_DYNAMO_MODE": "max-autotune"},
    )
    assert made.variables == {
        "ACCELERATE_MIXED_PRECISION": "bf16",
        "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "4",
        "ACCELERATE_DYNAMO_BACKEND": "INDUCTOR",
        "ACCELERATE_DEBUG_MODE": "true",
    }


def test_threads(box: Machine) -> None:
    made = make(box, {"processes.num_cpu_threads_per_process": "3"})
    assert made.variables == {"OMP_NUM_THREADS": "3"}


@pytest.mark.parametrize(
    ("flags", "file", "message"),
    [
        ({"processes.num_processes": "2"}, {}, "--num_processes asks for 2 processes.* --num_processes 1"),
        ({"processes.num_machines": "2"}, {}, "--num_machines asks for 2 machines.* --num_machines 1"),
        ({"processes.multi_gpu": True}, {}, "--multi_gpu asks for a process for each GPU.* Leave it out"),
        ({"processes.use_fsdp": True}, {}, "--use_fsdp"),
        ({"processes.use_parallelism_config": True}, {}, "--use_parallelism_config"),
        ({}, {"processes.num_processes": 4}, f"num_processes in {FILE} asks for 4 processes.*set it to 1 there"),
        ({}, {"processes.distributed_type": "FSDP"}, f"distributed_type in {FILE}.* NO there"),
        ({}, {"processes.distributed_type": "MULTI_GPU"}, f"distributed_type in {FILE}"),
    ],
)
def test_several_processes_are_refused(
    cluster: Machine, flags: dict[str, object], file: dict[str, object], message: str
) -> None:
    with pytest.raises(LaunchError, match=message):
        make(cluster, flags, file)


def test_one_process_of_a_file_for_several_gpus_is_fine(cluster: Machine) -> None:
    file: dict[str, object] = {"processes.distributed_type": "MULTI_GPU", "processes.num_processes": 4}
    assert make(cluster, {"processes.num_processes": "1"}, file).processes == 1


def test_a_file_that_undoes_its_own_number_of_processes(box: Machine) -> None:
    file: dict[str, object] = {"processes.num_processes": 8, "processes.distributed_type": "NO"}
    made = make(box, file=file)
    assert made.processes == 1
    assert made.warnings == (f"num_processes in {FILE} is 8, but distributed_type there is NO: running one process.",)
    with pytest.raises(LaunchError, match="--num_processes asks for 2"):
        make(box, {"processes.num_processes": "2"}, file)
    with pytest.raises(LaunchError, match="asks for 8"):
        make(box, file={"processes.num_processes": 8})


@pytest.mark.parametrize(
    ("flags", "file", "message"),
    [
        ({"processes.multi_gpu": True}, {}, "--multi_gpu asks for CUDA GPUs, but no NVIDIA GPU was found"),
        ({"device.gpu_ids": "0"}, {}, "--gpu_ids 0 asks for CUDA GPUs"),
        ({}, {"device.gpu_ids": "0"}, f"gpu_ids in {FILE} 0 asks for CUDA GPUs"),
        (
            {},
            {"processes.distributed_type": "MPS"},
            f"distributed_type in {FILE} asks for mps, but this machine runs Linux",
        ),
        ({"precision.mixed_precision": "fp16"}, {}, "--mixed_precision is 'fp16', but the run is on the CPU.* bf16"),
        ({"precision.mixed_precision": "fp8"}, {}, "--mixed_precision is 'fp8', but cpu has no fp8 here. Use bf16"),
    ],
)
def test_what_the_machine_lacks(box: Machine, flags: dict[str, object], file: dict[str, object], message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        make(box, flags, file)


def test_an_old_mac_file_works_on_a_mac_and_with_cpu(mac: Machine, box: Machine) -> None:
    file: dict[str, object] = {"processes.distributed_type": "MPS"}
    assert make(mac, file=file).device == "mps"
    assert make(box, {"device.cpu": True}, file).device == "cpu"


def test_precisions_of_mps(mac: Machine) -> None:
    for precision in ("no", "fp16", "bf16"):
        assert make(mac, {"precision.mixed_precision": precision}).device == "mps"
    with pytest.raises(DeviceError, match="variable ACCELERATE_MIXED_PRECISION is 'fp8', but mps"):
        make(mac, env={"ACCELERATE_MIXED_PRECISION": "fp8"})
    with pytest.raises(DeviceError, match="the CPU was asked for"):
        make(mac, {"precision.mixed_precision": "fp16", "device.cpu": True})


def test_fp16_is_left_to_the_script_where_torch_may_know_more_gpus(tmp_path: Path) -> None:
    torch = machines.install_torch(tmp_path, "2.14.1+xpu")
    machine = probe({}, machines.linux(tmp_path / "x", torch=torch))
    assert make(machine, {"precision.mixed_precision": "fp16"}).variables


def test_gpu_ids(cluster: Machine) -> None:
    one = make(cluster, {"device.gpu_ids": "2"})
    assert one.variables == {"CUDA_VISIBLE_DEVICES": "2"}
    assert one.warnings == ()
    two = make(cluster, {"device.gpu_ids": "2, 3"})
    assert two.variables == {"CUDA_VISIBLE_DEVICES": "2,3"}
    assert "the first of 2, 3" in two.warnings[0]
    assert make(cluster, {"device.gpu_ids": "all"}).variables == {}
    with pytest.raises(DeviceError, match="asks for GPU 4, but programs may see 4 here"):
        make(cluster, {"device.gpu_ids": "4"})
    with pytest.raises(ConfigError, match="numbers with commas"):
        make(cluster, {"device.gpu_ids": "first"})


def test_gpu_ids_have_no_effect_on_other_devices(mac: Machine, cluster: Machine) -> None:
    for made in (make(mac, {"device.gpu_ids": "0"}), make(cluster, {"device.gpu_ids": "0", "device.cpu": True})):
        assert made.variables.get("CUDA_VISIBLE_DEVICES") is None
        assert any("--gpu_ids has no effect" in line for line in made.warnings)


def test_several_gpus_left_idle_are_said_unless_one_process_was_asked_for(cluster: Machine, cuda: Machine) -> None:
    assert "4 CUDA GPUs" in make(cluster).warnings[0]
    assert make(cluster, {"processes.num_processes": "1"}).warnings == ()
    assert make(cuda).warnings == ()
    assert make(cuda).device == "cuda"


def test_flags_without_effect_warn_in_one_line(box: Machine) -> None:
    made = make(box, {"processes.tee": "3", "processes.role": "x", "processes.rdzv_backend": "static"})
    assert made.warnings == ("--tee, --role: no effect with one process.",)
    assert make(box, file={"processes.rdzv_backend": "c10d", "processes.same_network": True}).warnings == ()
    assert make(box, {"compile.mode": "max-autotune"}).warnings == (
        "--dynamo_mode: no effect without --dynamo_backend.",
    )
    assert make(box, {"compile.mode": "max-autotune", "compile.backend": "eager"}).warnings == ()


@pytest.mark.parametrize("how", ["flags", "file"])
def test_affinity_is_never_silent(box: Machine, how: str) -> None:
    made = make(box, **{how: {"processes.enable_cpu_affinity": True}})  # pyrefly: ignore
    assert len(made.warnings) == 1
    assert "enable_cpu_affinity" in made.warnings[0]


def test_a_device_named_in_the_environment_is_believed(mac: Machine) -> None:
    made = make(mac, env={"ACCELERATE_TORCH_DEVICE": "xpu:1"})
    assert (made.device, made.choices[0].why) == ("xpu", "the environment names it")
    assert make(mac, {"device.cpu": True}, env={"ACCELERATE_TORCH_DEVICE": "mps"}).device == "cpu"


def test_choices_explain_every_knob(mac: Machine) -> None:
    made = make(mac, {"precision.mixed_precision": "bf16"}, {"debug.debug": True})
    shown = {choice.what: choice for choice in made.choices}
    assert set(shown) == {"device", *(one.flag or one.key or one.env for one in knobs())}
    assert (shown["mixed_precision"].value, str(shown["mixed_precision"].origin)) == ("bf16", "--mixed_precision")
    assert (shown["debug"].value, str(shown["debug"].origin)) == ("true", str(FILE))
    assert (shown["log_dir"].value, str(shown["log_dir"].origin)) == ("-", "default")
    assert all(choice.why for choice in made.choices)


def test_a_device_can_be_simulated_where_it_is_not(box: Machine, cuda: Machine) -> None:
    for machine in (box, cuda):
        made = make(machine, {"device.simulate": "mps", "precision.mixed_precision": "fp16"})
        assert (made.device, made.simulated, made.warnings) == ("mps", True, ())
        assert made.choices[0].why == "it is simulated on the CPU"
    assert make(box, env={"ACCELERATE_SIMULATE": "mps"}, file={"distributed_type": "MPS"}).simulated
    assert not make(box).simulated


def test_what_a_simulation_excludes(box: Machine, mac: Machine) -> None:
    simulate: dict[str, object] = {"device.simulate": "mps"}
    with pytest.raises(DeviceError, match="--simulate mps: this is a Mac, which has the real one"):
        make(mac, simulate)
    with pytest.raises(ConfigError, match="--simulate mps and --cpu exclude each other"):
        make(box, {**simulate, "device.cpu": True})
    with pytest.raises(ConfigError, match="must be one of: mps"):
        make(box, {"device.simulate": "cuda"})
    resolved = resolve(flags=simulate)
    with pytest.raises(ConfigError, match="--no_python exclude each other"):
        plan(resolved.settings, resolved.provenance, box, Target("ls", how="program"))
