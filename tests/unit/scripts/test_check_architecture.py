"""The checks of the project's limits find what breaks one, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts_loader import load_program

checker = load_program("scripts/check_architecture.py")


def write(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def function(lines: int, docstring: bool = False) -> str:
    text = ['    """What it is for.', "", '    In more words."""'] if docstring else []
    return "\n".join(["def f():", *text, *["    x = 1"] * lines]) + "\n"


@pytest.mark.parametrize(
    ("name", "lines", "complaints"),
    [
        ("src/accelerate/a.py", 500, 0),
        ("src/accelerate/a.py", 501, 1),
        ("src/accelerate/accelerator.py", 700, 0),
        ("src/accelerate/accelerator.py", 701, 1),
        ("tests/a.py", 501, 1),
        ("examples/a.py", 501, 1),
        ("elsewhere/a.py", 501, 0),
    ],
)
def test_long_files(tmp_path: Path, name: str, lines: int, complaints: int) -> None:
    write(tmp_path, name, "x = 1\n" * lines)
    assert len(list(checker.check_files(tmp_path))) == complaints


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        (function(50), 0),
        (function(51), 1),
        (function(50, docstring=True), 0),
        (function(51, docstring=True), 1),
        ("def f(\n" + "    a,\n" * 60 + "):\n    return a\n", 0),
        ("async " + function(51), 1),
    ],
)
def test_long_functions(tmp_path: Path, text: str, complaints: int) -> None:
    write(tmp_path, "src/a.py", text)
    assert len(list(checker.check_functions(tmp_path))) == complaints


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", []),
        ("x = 1\n", ["the module"]),
        ('"""Doc."""\ndef f(): ...\n', ["f"]),
        ('"""Doc."""\ndef _f(): ...\n', []),
        ('"""Doc."""\nclass A:\n    def f(self): ...\n', ["A", "f"]),
        ('"""Doc."""\nclass A:\n    """Doc."""\n    def _f(self): ...\n', []),
        ('"""Doc."""\nclass A(B):\n    """Doc."""\n    def f(self): ...\n', []),
        ('"""Doc."""\nclass A:\n    """Doc."""\n    @x.setter\n    def x(self, value): ...\n', []),
        ('"""Doc."""\n@typing.overload\ndef f(): ...\n', []),
    ],
)
def test_docstrings(tmp_path: Path, text: str, named: list[str]) -> None:
    write(tmp_path, "src/a.py", text)
    complaints = list(checker.check_docstrings(tmp_path))
    assert [complaint.split(": ")[1].split(" has")[0] for complaint in complaints] == named


@pytest.mark.parametrize(
    ("test", "complaints"),
    [
        ("tests/unit/test_top.py", 0),
        ("tests/unit/part/test_module.py", 0),
        ("tests/unit/test_part.py", 0),
        ("tests/unit/scripts/test_tool.py", 0),
        ("tests/unit/test_module.py", 1),
        ("tests/unit/part/test_gone.py", 1),
        ("tests/unit/part/conftest.py", 0),
        ("tests/cli/test_gone.py", 0),
    ],
)
def test_mirror(tmp_path: Path, test: str, complaints: int) -> None:
    for name in ("top.py", "part/__init__.py", "part/module.py"):
        write(tmp_path, f"src/accelerate/{name}", "")
    write(tmp_path, "scripts/tool.py", "")
    write(tmp_path, test, "")
    assert len(list(checker.check_mirror(tmp_path))) == complaints


def test_a_part_that_imports_torch_is_named(tmp_path: Path) -> None:
    write(tmp_path, "src/accelerate/__init__.py", "")
    write(tmp_path, "src/accelerate/errors.py", "")
    write(tmp_path, "src/accelerate/machine/__init__.py", "")
    assert list(checker.check_imports(tmp_path)) == []
    write(tmp_path, "src/torch.py", "")
    write(tmp_path, "src/accelerate/machine/probe.py", "import torch\n")
    write(tmp_path, "src/accelerate/settings.py", "")
    assert list(checker.check_imports(tmp_path)) == ["importing this imports torch, or fails: accelerate.machine.probe"]


@pytest.mark.parametrize(
    ("line", "complaints"),
    [
        ("see /" + "work/main", 1),
        ("open('/" + "root/x')", 1),
        ("a/" + "work/b and framework/x", 0),
        ("/Users/ada/photos", 0),
    ],
)
def test_paths_of_one_machine(tmp_path: Path, line: str, complaints: int) -> None:
    write(tmp_path, "docs/a.md", line)
    assert len(list(checker.check_paths(tmp_path))) == complaints


def test_all_complaints_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "src/accelerate/a.py", "x = 1\n" * 501)
    assert checker.main([str(tmp_path)]) == 1
    assert "src/accelerate/a.py: 501 lines, the limit is 500" in capsys.readouterr().out.splitlines()


def test_a_tree_within_the_limits_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "src/accelerate/errors.py", '"""What can go wrong."""\n')
    assert checker.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""
