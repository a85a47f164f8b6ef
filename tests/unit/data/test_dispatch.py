from __future__ import annotations

from typing import Any

import torch

from accelerate.data.dispatch import DataLoaderDispatcher


def test_one_process_gets_everything() -> None:
    numbers: Any = torch.arange(5)
    loader = DataLoaderDispatcher(numbers, batch_size=2, skip_batches=1, device="cpu", iteration=3)
    assert [batch.tolist() for batch in loader] == [[2, 3], [4]]
    assert (loader.iteration, loader.device) == (4, torch.device("cpu"))
