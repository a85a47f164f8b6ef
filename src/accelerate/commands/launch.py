"""Old name of `accelerate launch`; `python -m accelerate.commands.launch` runs it."""

from __future__ import annotations

from accelerate.cli.main import launch_main
from accelerate.cli.namespace import launch_command, launch_command_parser
from accelerate.cli.namespace import validate_launch_command as _validate_launch_command

__all__ = ["_validate_launch_command", "launch_command", "launch_command_parser"]

if __name__ == "__main__":
    launch_main()
