"""Old name of `accelerate config`; `python -m accelerate.commands.config.config` runs it."""

from __future__ import annotations

from accelerate.cli.main import config_main as main

__all__ = ["main"]

if __name__ == "__main__":
    main()
