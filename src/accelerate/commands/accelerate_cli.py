"""Old name of the command `accelerate`; `python -m accelerate.commands.accelerate_cli` runs it."""

from __future__ import annotations

from accelerate.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
