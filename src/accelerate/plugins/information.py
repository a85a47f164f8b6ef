"""What a tensor looks like, without the tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass
class TensorInformation:
    """Shape and dtype of a tensor, as processes tell each other what they are about to send."""

    shape: torch.Size
    dtype: torch.dtype
