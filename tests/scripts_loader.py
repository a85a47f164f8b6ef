"""Load a program of this project by its path, since scripts/ and examples/ are no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parent.parent


def load_program(path: str) -> ModuleType:
    """Run a file, named from the top of the project, as a module of its own and return it."""
    name = "program_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, PROJECT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
