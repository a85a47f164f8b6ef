"""Old name of `accelerate test`; `python -m accelerate.commands.test` runs it."""

from __future__ import annotations

import sys

from accelerate.cli.main import run

if __name__ == "__main__":
    run(["test", *sys.argv[1:]])
