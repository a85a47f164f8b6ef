from __future__ import annotations

from pathlib import Path

from command_line import accelerate


def test_an_installation_is_checked_without_a_path(tmp_path: Path) -> None:
    done = accelerate("test", home=tmp_path, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("Device: ")
    assert lines[-1] == "OK: training works on this machine."
    assert sum(line.startswith("ok ") for line in lines) == 3


def test_the_named_configuration_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("mixed_precision: bf16\nuse_cpu: true\n")
    done = accelerate("test", "--config_file", "c.yaml", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Device: cpu, mixed precision: bf16" in done.stdout


def test_a_missing_configuration_file_is_one_line(tmp_path: Path) -> None:
    done = accelerate("test", "--config_file", "nope.yaml", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "accelerate: error: There is no configuration file nope.yaml. Make one with: accelerate config\n"
    )
