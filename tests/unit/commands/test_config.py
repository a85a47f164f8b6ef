from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from accelerate.commands.config import default_config_file, load_config_from_file
from accelerate.commands.config.config_args import BaseConfig, ClusterConfig, SageMakerConfig, default_json_config_file
from accelerate.commands.config.default import write_basic_config
from command_line import clean_environment


def test_the_old_names_lead_to_the_new_places(tmp_path: Path) -> None:
    assert issubclass(ClusterConfig, BaseConfig)
    assert not issubclass(SageMakerConfig, BaseConfig)
    assert default_json_config_file.endswith("/accelerate/default_config.yaml")
    assert default_config_file.startswith(default_json_config_file.rsplit(".", 1)[0])
    place = write_basic_config(mixed_precision="bf16", save_location=str(tmp_path / "c.yaml"))
    assert place == tmp_path / "c.yaml"
    assert load_config_from_file(str(place)).to_dict()["mixed_precision"] == "bf16"


def test_the_old_modules_run_as_programs(tmp_path: Path) -> None:
    for module, argument in [("config.config", "default"), ("env", "--json"), ("test", "--help")]:
        done = subprocess.run(
            [sys.executable, "-m", f"accelerate.commands.{module}", argument],
            env=clean_environment(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout
        assert not done.stderr
    assert yaml.safe_load((tmp_path / "accelerate/default_config.yaml").read_text())["use_cpu"] is False
