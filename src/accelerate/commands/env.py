"""Old name of `accelerate env`; `python -m accelerate.commands.env` runs it."""

from __future__ import annotations

import sys

from accelerate.cli.main import run

if __name__ == "__main__":
    run(["env", *sys.argv[1:]])
