"""Check the limits that keep this project readable, and print one line for each place that breaks one.

    python scripts/check_architecture.py [FOLDER]

- A Python file has at most 500 lines; `accelerator.py`, the front door, at most 700.
- The body of a function has at most 50 lines. Its docstring does not count, nor does its signature, which may be
  that of an API whose arguments are many.
- Modules, classes and functions of the package that are not private have a docstring.
- A file in tests/unit/ is named after the file that it tests: `a/test_b.py` after `a/b.py`.
- Parts that the command line starts with do not import torch.
- No file names a folder of one person's machine.

Layers and cycles are the business of import-linter, style that of ruff.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDERS = ("src", "tests", "scripts", "examples", "benchmarks")
TEXTS = ("*.py", "*.pyi", "*.md", "*.toml", "*.yml", "*.yaml", "*.sh")

LONGEST_FILE = 500
LONGEST_FILES = {"src/accelerate/accelerator.py": 700}
LONGEST_FUNCTION = 50

# Each of these, and what is below it, starts within a few milliseconds or it is of no use to the command line.
WITHOUT_TORCH = ("cli", "errors", "launch", "log", "machine", "settings", "topology")
# What `accelerate test` launches: a training script in all but its place.
PROGRAMS = {"accelerate.cli.selfcheck"}
PROBE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    if "torch" in sys.modules:
        sys.exit(name)
"""

# Split, so that this file does not find itself.
MACHINE_PATH = re.compile("(?<![A-Za-z0-9_.])/(?:" + "|".join(["work", "root"]) + r")/\w")

Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    complaints = [complaint for check in CHECKS for complaint in check(root)]
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{len(complaints)} places break a limit; scripts/check_architecture.py says at its top which there are.")
    return 1 if complaints else 0


def python_files(root: Path, *folders: str) -> Iterator[tuple[str, Path]]:
    """Path below `root` with forward slashes, and the path, of each Python file."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield path.relative_to(root).as_posix(), path


def check_files(root: Path) -> Iterator[str]:
    for name, path in python_files(root, *FOLDERS):
        lines, limit = len(path.read_text().splitlines()), LONGEST_FILES.get(name, LONGEST_FILE)
        if lines > limit:
            yield f"{name}: {lines} lines, the limit is {limit}"


def check_functions(root: Path) -> Iterator[str]:
    for name, path in python_files(root, *FOLDERS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function) and (lines := function_lines(node)) > LONGEST_FUNCTION:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines, the limit is {LONGEST_FUNCTION}"


def function_lines(node: Function) -> int:
    """Lines of the body without the docstring. Functions within count into the outer one."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (node.end_lineno or node.lineno) - body[0].lineno + 1 if body else 0


def check_docstrings(root: Path) -> Iterator[str]:
    for name, path in python_files(root, "src"):
        tree = ast.parse(path.read_text())
        if tree.body and ast.get_docstring(tree) is None:
            yield f"{name}:1: the module has no docstring"
        for node in public_definitions(tree):
            if ast.get_docstring(node) is None:
                yield f"{name}:{node.lineno}: {node.name} has no docstring"


def public_definitions(tree: ast.Module) -> Iterator[Function | ast.ClassDef]:
    """Public classes and functions of a module, and the public methods of those classes.

    Left out are overloads, setters, and methods of a class with bases: the base may have said what they are for.
    """
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and is_public(node):
            yield node
            if isinstance(node, ast.ClassDef) and not node.bases:
                yield from (method for method in node.body if isinstance(method, Function) and is_public(method))


def is_public(node: Function | ast.ClassDef) -> bool:
    marks = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return not node.name.startswith("_") and not marks & {"overload", "setter"}


def check_mirror(root: Path) -> Iterator[str]:
    for name, path in python_files(root, "tests/unit"):
        if not path.name.startswith("test_"):
            continue
        tested = path.relative_to(root / "tests" / "unit").with_name(path.name.removeprefix("test_"))
        places = [root / tested, root / "src" / "accelerate" / tested]
        if not any(place.exists() or (place.with_suffix("") / "__init__.py").exists() for place in places):
            yield f"{name}: there is no {tested.as_posix()} that it tests"


def check_imports(root: Path) -> Iterator[str]:
    source = root / "src"
    names = (name for part in WITHOUT_TORCH for name in modules_below(source, f"accelerate/{part}"))
    modules = [name for name in names if name not in PROGRAMS]
    run = subprocess.run(
        [sys.executable, "-c", PROBE, *modules], capture_output=True, text=True, cwd=source, timeout=120
    )
    if run.returncode != 0:
        yield f"importing this imports torch, or fails: {run.stderr.strip().splitlines()[-1]}"


def modules_below(source: Path, part: str) -> Iterator[str]:
    """Dotted names of a module, or of a package and all that is in it; `__main__` files are programs."""
    paths = [(source / part).with_suffix(".py"), *sorted((source / part).rglob("*.py"))]
    for path in paths:
        if path.exists() and path.name != "__main__.py":
            yield ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def check_paths(root: Path) -> Iterator[str]:
    texts = [path for folder in (*FOLDERS, "docs") for glob in TEXTS for path in (root / folder).rglob(glob)]
    for path in [*texts, *(path for glob in TEXTS for path in root.glob(glob))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := MACHINE_PATH.search(line):
                yield f"{path.relative_to(root).as_posix()}:{number}: {found[0]} is a folder of one machine"


CHECKS: list[Callable[[Path], Iterator[str]]] = [
    check_files,
    check_functions,
    check_docstrings,
    check_mirror,
    check_imports,
    check_paths,
]

if __name__ == "__main__":
    sys.exit(main())
