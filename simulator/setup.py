"""Puts the start-up hook beside the package: a `.pth` file, which Python runs when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

HOOK = "mps_simulator_startup.pth"


class _BuildWithHook(build_py):
    """A wheel that has the hook at its top."""

    def _target(self) -> str:
        return str(Path(str(self.build_lib)) / HOOK)

    def run(self) -> None:
        """Build, and add the hook."""
        super().run()
        self.copy_file(HOOK, self._target())

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The files of the build."""
        return [*super().get_outputs(include_bytecode), self._target()]


class _EditableWithHook(editable_wheel):
    """The same for an editable installation, whose wheel is put together apart from the build."""

    def _select_strategy(self, *args: Any) -> Any:  # setuptools has no public place for this
        strategy = super()._select_strategy(*args)  # pyrefly: ignore
        write = strategy.__call__

        class _WithHook(type(strategy)):  # pyrefly: ignore
            def __call__(self, wheel: Any, *args: Any) -> None:
                write(wheel, *args)
                wheel.writestr(HOOK, Path(HOOK).read_bytes())

        strategy.__class__ = _WithHook
        return strategy


setup(cmdclass={"build_py": _BuildWithHook, "editable_wheel": _EditableWithHook})
