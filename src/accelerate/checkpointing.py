"""Where the API keeps its functions for checkpoints."""

from accelerate.checkpoint.functions import (
    load_accelerator_state,
    load_custom_state,
    save_accelerator_state,
    save_custom_state,
)

__all__ = ["load_accelerator_state", "load_custom_state", "save_accelerator_state", "save_custom_state"]
