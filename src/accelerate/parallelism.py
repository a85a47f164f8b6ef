"""What the API offers about sharing one model among processes, in a version that does not share it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from accelerate.errors import ConfigError
from accelerate.plugins.enums import FP8BackendType


class Unshared:
    """The part of `Accelerator` that concerns models shared among processes: here every answer is "not shared"."""

    deepspeed_plugin: Any = None
    has_lomo_optimizer = False
    has_fp8_handler = False
    fp8_enabled = False
    delayed_fp8_autocast = False
    fp8_backend = FP8BackendType.NO
    multi_device = False
    is_fsdp2 = False
    is_composable_parallelism_enabled = False
    torch_device_mesh: Any = None
    should_save_model = True
    """Whether this process holds weights that no other process saves."""

    @property
    def data_parallel_rank(self) -> NoReturn:
        """Raise: there is no parallelism of this kind."""
        self._refuse("data parallelism")

    @property
    def data_parallel_shard_rank(self) -> NoReturn:
        """Raise: there is no parallelism of this kind."""
        self._refuse("sharded data parallelism")

    @property
    def tensor_parallel_rank(self) -> NoReturn:
        """Raise: there is no parallelism of this kind."""
        self._refuse("tensor parallelism")

    @property
    def pipeline_parallel_rank(self) -> NoReturn:
        """Raise: there is no parallelism of this kind."""
        self._refuse("pipeline parallelism")

    @property
    def context_parallel_rank(self) -> NoReturn:
        """Raise: there is no parallelism of this kind."""
        self._refuse("context parallelism")

    @contextmanager
    def maybe_context_parallel(
        self, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None
    ) -> Iterator[None]:
        """Leave `buffers` as they are: sequences are not split among processes."""
        del buffers, buffer_seq_dims, no_restore_buffers
        yield

    def deepspeed_ulysses_dl_adapter(self, dl: Any, model: Any) -> Any:
        """Return the loader `dl` itself: sequences are not split among processes."""
        del model
        return dl

    def lomo_backward(self, loss: Any, learning_rate: float) -> NoReturn:
        """Raise: LOMO optimizers are not supported."""
        self._refuse("LOMO optimizers")

    def _refuse(self, what: str) -> NoReturn:
        raise ConfigError(f"This run has no {what}.", "This version trains one model on one device.")
