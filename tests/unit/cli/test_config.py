from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from accelerate.cli.config import config, write_basic_config
from accelerate.errors import ConfigError
from accelerate.machine.facts import Machine
from accelerate.machine.probe import probe
from accelerate.settings import files
from accelerate.settings.sections import build
from machines import dylib, install_torch, linux, mac


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the configuration, and no variables that would be shown as origins."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return tmp_path / "hf/accelerate/default_config.yaml"


def be(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(environ: Mapping[str, str]) -> Machine:
        return machine

    monkeypatch.setattr("accelerate.cli.config.probe", found)


@pytest.fixture
def a_mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = install_torch(tmp_path, library=dylib(mps=True, macos=(14, 0)))
    be(probe({}, mac("Apple M2 Max", gib=96, torch=torch)), monkeypatch)


@pytest.fixture
def a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be(probe({}, linux(tmp_path / "root", torch=install_torch(tmp_path, "2.14.1+cpu"))), monkeypatch)


def invoke(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(config, list(arguments), input=typed)


@pytest.mark.usefixtures("a_mac")
def test_the_questionnaire_on_a_mac(home: Path) -> None:
    result = invoke(typed="no\nyes\nbf16\nno\n")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("This machine: Apple M2 Max, 96 GiB, macOS 15.3. Best device: mps.\n")
    assert f"Wrote {home}. `accelerate launch script.py` will use mps" in result.output
    assert yaml.safe_load(home.read_text()) == {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": "NO",
        "enable_cpu_affinity": False,
        "machine_rank": 0,
        "mixed_precision": "bf16",
        "mps_fallback": True,
        "num_machines": 1,
        "num_processes": 1,
        "rdzv_backend": "static",
        "same_network": False,
        "use_cpu": False,
    }


@pytest.mark.usefixtures("a_mac")
def test_the_cpu_of_a_mac_can_be_chosen(home: Path) -> None:
    result = invoke(typed="yes\nno\nno\n")
    assert "will use cpu, because the CPU was asked for" in result.output
    assert yaml.safe_load(home.read_text())["use_cpu"] is True


@pytest.mark.usefixtures("a_server")
def test_a_machine_without_gpu_is_not_asked_about_one(home: Path) -> None:
    result = invoke(typed="\n\n")
    assert result.exit_code == 0
    assert "GPU?" not in result.output
    assert yaml.safe_load(home.read_text())["use_cpu"] is False


def test_a_gpu_that_cannot_be_used_is_mentioned_before_the_questions(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be(probe({}, mac(python_arch="x86_64")), monkeypatch)
    result = invoke(typed="\n\n\n\n")
    assert "Best device: cpu.\nThe GPU cannot be used: this Python" in result.output


@pytest.mark.usefixtures("a_server")
def test_the_earlier_file_gives_the_defaults_and_is_kept(home: Path) -> None:
    files.save(build({"precision.mixed_precision": "bf16"}), home)
    before = home.read_text()
    result = invoke(typed="\n\n")
    assert "(no/bf16) [bf16]" in result.output
    assert yaml.safe_load(home.read_text())["mixed_precision"] == "bf16"
    assert home.with_name("default_config.yaml.bak").read_text() == before


@pytest.mark.usefixtures("a_server")
def test_an_earlier_file_that_cannot_be_read_does_not_stop_the_questions(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("num_procesess: 3\n")
    result = invoke(typed="\n\n")
    assert result.exit_code == 0
    assert "The present file is ignored: The configuration file" in result.output
    assert "num_procesess" not in home.read_text()


@pytest.mark.usefixtures("a_server")
@pytest.mark.parametrize("typed", ["", "bf16\n", "perhaps\n"])
def test_when_the_input_ends_nothing_is_written(home: Path, typed: str) -> None:
    result = invoke(typed=typed)
    assert isinstance(result.exception, ConfigError)
    assert "Nothing was written" in str(result.exception)
    assert not home.exists()


@pytest.mark.usefixtures("a_server")
def test_ctrl_c_writes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("accelerate.cli.ui.choose", interrupted)
    result = invoke()
    assert "Stopped; nothing was written." in result.output
    assert result.exit_code == 1  # click's own word for Abort; `cli.main` makes it 130
    assert not home.exists()


@pytest.mark.usefixtures("a_server")
def test_a_place_that_cannot_be_written_is_found_out_before_the_questions(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, says in [(tmp_path / "file/sub/c.yaml", "is not a folder"), (tmp_path, "is a folder")]:
        result = invoke("--config_file", str(place), typed="\n\n")
        assert isinstance(result.exception, ConfigError)
        assert says in str(result.exception)
        assert "precision" not in result.output


@pytest.mark.usefixtures("a_mac")
@pytest.mark.parametrize("precision", ["no", "fp16", "bf16"])
def test_default_on_a_mac_means_mps(home: Path, precision: str) -> None:
    result = invoke("default", "--mixed_precision", precision)
    assert result.output.startswith(f"Wrote {home}. `accelerate launch script.py` will use mps")
    written = yaml.safe_load(home.read_text())
    assert (written["use_cpu"], written["num_processes"], written["distributed_type"]) == (False, 1, "NO")
    assert written["mixed_precision"] == precision


@pytest.mark.usefixtures("a_server")
@pytest.mark.parametrize("order", ["group", "command"])
def test_the_file_may_be_named_on_either_side(order: str, tmp_path: Path) -> None:
    named = ["--config_file", str(tmp_path / "sub/c.json")]
    result = invoke(*(["default", *named] if order == "command" else [*named, "default"]))
    assert result.exit_code == 0
    assert (tmp_path / "sub/c.json").read_text().startswith("{")


@pytest.mark.usefixtures("a_server")
def test_default_leaves_a_file_alone(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("use_cpu: true\n")
    result = invoke("default")
    assert result.exit_code == 0
    assert result.output == f"There is a configuration file already, and it is left as it is: {home}\n"
    assert home.read_text() == "use_cpu: true\n"


def test_write_basic_config_for_programs(tmp_path: Path) -> None:
    place = tmp_path / "sub/c.yaml"
    assert write_basic_config(save_location=str(place)) == place
    assert write_basic_config("bf16", place) is False
    assert yaml.safe_load(place.read_text())["mixed_precision"] == "no"
    with pytest.raises(ValueError, match="mixed_precision is 'int3'"):
        write_basic_config("int3", tmp_path / "other.yaml")
    assert not (tmp_path / "other.yaml").exists()


def test_update_brings_an_old_file_to_todays_form(home: Path) -> None:
    home.parent.mkdir(parents=True)
    old = "distributed_type: MPS\nuse_mps_device: true\nfp16: true\nnum_processes: 1\ndeepspeed_config: {}\n"
    home.write_text(old)
    result = invoke("update")
    assert result.exit_code == 0, result.output
    written = yaml.safe_load(home.read_text())
    assert written["mixed_precision"] == "fp16"
    assert written["distributed_type"] == "NO"
    assert not {"use_mps_device", "fp16", "deepspeed_config"} & set(written)
    assert home.with_name("default_config.yaml.bak").read_text() == old


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("fsdp_config: {fsdp_version: 2}\n", "has fsdp_config, which this version does not use"),
        ("num_procesess: 1\n", "unknown key"),
        (None, "There is no configuration file"),
    ],
)
def test_update_refuses_what_it_would_spoil(content: str | None, says: str, home: Path) -> None:
    home.parent.mkdir(parents=True)
    if content is not None:
        home.write_text(content)
    result = invoke("update")
    assert isinstance(result.exception, ConfigError)
    assert says in str(result.exception)
    assert (home.read_text() if home.exists() else None) == content
    assert not home.with_name("default_config.yaml.bak").exists()


def test_show_tells_value_origin_and_meaning(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.save(build({"precision.mixed_precision": "bf16"}), home)
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    result = invoke("show")
    assert result.output.startswith(f"Configuration file: {home}\n")
    rows = {line.split()[0]: line.split() for line in result.output.splitlines() if line.strip()}
    assert rows["mixed_precision"][1:3] == ["bf16", "file"]
    assert rows["gradient_accumulation_steps"][1:3] == ["4", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"]
    assert rows["gpu_ids"][1:3] == ["-", "default"]
    assert rows["use_cpu"][1] == "false"
    assert "Run on the CPU" in " ".join(rows["use_cpu"])
