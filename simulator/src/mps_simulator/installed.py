"""The PyTorch that `import torch` would find, read from its files."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mps_simulator.errors import SimulatorError

# With 2.11 the device trains, but a refused allocation and `--strict` end the process; releases between are untried.
OLDEST = (2, 14)


@dataclass(frozen=True)
class Torch:
    """An installation of PyTorch.

    Args:
        folder: The package `torch`.
        version: For example "2.14.1+cu130".
        commit: The commit it was built from.
    """

    folder: Path
    version: str
    commit: str

    @property
    def libraries(self) -> Path:
        """The folder of its shared libraries."""
        return self.folder / "lib"


def find_torch() -> Torch:
    """Look at the installed PyTorch, without importing it.

    Raises:
        SimulatorError: There is none, or it is too old.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SimulatorError("PyTorch is not installed for this Python; run: pip install torch")
    folder = Path(spec.origin).parent
    text = (folder / "version.py").read_text()
    version = _assigned(text, "__version__")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        oldest = ".".join(str(part) for part in OLDEST)
        raise SimulatorError(f"PyTorch {version} is too old to simulate mps on; it must be {oldest} or later.")
    return Torch(folder, version, _assigned(text, "git_version"))


def _assigned(text: str, name: str) -> str:
    found = re.search(rf"^{name}\s*(?::[^=]+)?=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    return found[1] if found else ""


def mps_operators(torch: Torch) -> list[str]:
    """The names of the operators that have a kernel for mps on a Mac, from PyTorch's own table.

    A structured operator has its kernel under the name of its `out` form.
    """
    table = torch.folder.parent / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    try:
        entries = list(_entries(table.read_text()))
    except OSError as error:
        raise SimulatorError(f"PyTorch's table of operators cannot be read: {table}: {error.strerror}.") from None
    with_kernel = {name for name, backends, _ in entries if "MPS" in backends}
    return [name for name, _, delegate in entries if name in with_kernel or delegate in with_kernel]


def _entries(text: str) -> Iterator[tuple[str, frozenset[str], str]]:
    """Each operator with the backends of its table, and the operator that it delegates to.

    The file is YAML, but it is long, reading it as such takes seconds, and its layout is that of a generator's input.
    """
    for block in re.split(r"^- func: ", text, flags=re.MULTILINE)[1:]:
        name = block[: block.index("(")].strip()
        delegate = re.search(r"^  structured_delegate: (\S+)", block, re.MULTILINE)
        rows = re.search(r"^  dispatch:\n((?:    .*\n|\s*#.*\n|\n)+)", block, re.MULTILINE)
        keys = re.findall(r"^    ([\w, ]+):", rows[1], re.MULTILINE) if rows else []
        backends = frozenset(key.strip() for row in keys for key in row.split(","))
        yield name, backends, delegate[1] if delegate else ""
