"""Old name of what `accelerate config default` does."""

from __future__ import annotations

from accelerate.cli.config import write_basic_config
from accelerate.commands.config.config_args import default_json_config_file

__all__ = ["default_json_config_file", "write_basic_config"]
