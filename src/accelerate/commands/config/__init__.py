"""Old names of `accelerate config`."""

from __future__ import annotations

from accelerate.cli.main import config_main as main
from accelerate.commands.config.config_args import default_config_file, load_config_from_file

__all__ = ["default_config_file", "load_config_from_file", "main"]
