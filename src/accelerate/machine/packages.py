"""Which libraries are installed, in which version, without importing them."""

from __future__ import annotations

import functools
import operator
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from packaging.version import Version

from accelerate.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATIONS: dict[str, Callable[[Version, Version], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
}


@functools.cache
def installed(module: str) -> bool:
    """Whether `import module` would find a package; a mere folder of that name, such as `wandb/`, is none."""
    try:
        spec = find_spec(module)
    except ValueError:
        return module in sys.modules
    return spec is not None and spec.origin is not None


def compare_versions(library_or_version: str | Version, operation: str, requirement_version: str) -> bool:
    """Compare the version of an installed library, or a version, with another.

    Args:
        library_or_version: Name of a distribution, or a parsed version.
        operation: One of `>`, `>=`, `==`, `!=`, `<=`, `<`.
        requirement_version: The right side.

    Raises:
        ConfigError: Another operation.
        importlib.metadata.PackageNotFoundError: The library is not installed.
    """
    if operation not in _OPERATIONS:
        raise ConfigError(f"operation is {operation!r}.", f"It must be one of {', '.join(_OPERATIONS)}.")
    left = library_or_version
    if isinstance(left, str):
        left = Version(installed_version(left))
    return _OPERATIONS[operation](left, Version(requirement_version))


def is_torch_version(operation: str, version: str) -> bool:
    """Compare the version of the installed torch; a local part such as `+cu130` does not count.

    Raises:
        ConfigError: An operation that `compare_versions` does not know.
    """
    return compare_versions(Version(Version(installed_version("torch")).public), operation, version)


def are_libraries_initialized(*library_names: str) -> list[str]:
    """Return those of the modules that this process has imported already."""
    return [name for name in library_names if name in sys.modules]


def _any_of(*modules: str) -> Callable[[], bool]:
    def is_available() -> bool:
        return any(installed(module) for module in modules)

    is_available.__doc__ = f"Whether {' or '.join(modules)} is installed."
    return is_available


def _since(module: str, distribution: str, minimum: str) -> Callable[[], bool]:
    def is_available() -> bool:
        return installed(module) and compare_versions(distribution, ">=", minimum)

    is_available.__doc__ = f"Whether {module} is installed in version {minimum} or later."
    return is_available


is_aim_available = _any_of("aim")
is_boto3_available = _any_of("boto3")
is_clearml_available = _any_of("clearml")
is_comet_ml_available = _any_of("comet_ml")
is_datasets_available = _any_of("datasets")
is_dvclive_available = _any_of("dvclive")
is_import_timer_available = _any_of("import_timer")
is_matplotlib_available = _any_of("matplotlib")
is_mlflow_available = _any_of("mlflow")
is_pandas_available = _any_of("pandas")
is_peft_available = _any_of("peft")
is_pynvml_available = _any_of("pynvml")
is_pytest_available = _any_of("pytest")
is_rich_available = _any_of("rich")
is_schedulefree_available = _any_of("schedulefree")
is_swanlab_available = _any_of("swanlab")
is_tensorboard_available = _any_of("tensorboard", "tensorboardX")
is_timm_available = _any_of("timm")
is_torchao_available = _since("torchao", "torchao", "0.6.1")
is_torchdata_available = _any_of("torchdata")
is_torchdata_stateful_dataloader_available = _since("torchdata", "torchdata", "0.8.0")
is_torchvision_available = _any_of("torchvision")
is_tqdm_available = _any_of("tqdm")
is_trackio_available = _any_of("trackio")
is_transformers_available = _any_of("transformers")
is_triton_available = _any_of("triton")
is_wandb_available = _any_of("wandb")


def is_bnb_available(min_version: str | None = None) -> bool:
    """Whether bitsandbytes is installed, in `min_version` or later when that is given."""
    if not installed("bitsandbytes"):
        return False
    return min_version is None or compare_versions("bitsandbytes", ">=", min_version)


is_4bit_bnb_available = _since("bitsandbytes", "bitsandbytes", "0.39.0")
is_8bit_bnb_available = _since("bitsandbytes", "bitsandbytes", "0.37.2")
is_bitsandbytes_multi_backend_available = _since("bitsandbytes", "bitsandbytes", "0.46.0")


def is_numpy_available(min_version: str = "1.25.0") -> bool:
    """Whether numpy is installed in `min_version` or later."""
    return installed("numpy") and compare_versions("numpy", ">=", min_version)


def is_weights_only_available() -> bool:
    """Whether torch can load untrusted files safely; every torch that this package accepts can."""
    return True


def is_undriven(*_args: object, **_kwargs: object) -> bool:
    """Answer no, whatever is asked.

    For device kinds and engines that this package does not drive: programs ask before they use one, so the
    answer must be no even where its library is installed.
    """
    return False
