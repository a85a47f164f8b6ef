"""Names and modules are there after `import accelerate`, and torch is not imported for it."""

from __future__ import annotations

import subprocess
import sys


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_no_torch() -> None:
    assert _run("import sys, accelerate; print(accelerate.__version__ > '1', 'torch' in sys.modules)") == "True False"


def test_everything_is_reached_from_the_package() -> None:
    code = """if True:
        import accelerate
        import accelerate.utils as u
        print(accelerate.utils.set_seed is accelerate.utils.random.set_seed)
        print(accelerate.state.PartialState is accelerate.PartialState)
        print(hasattr(accelerate, "nothing"), hasattr(u, "nothing"))
        print(callable(u.tqdm), "gather" in dir(u))
    """
    assert _run(code).split() == ["True", "True", "False", "False", "True", "True"]
