"""Options of prepared data loaders."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DataLoaderConfiguration:
    """How `Accelerator.prepare` treats data loaders. It may be changed until the first loader is prepared.

    Args:
        split_batches: Whether a batch of the loader is cut among the processes, or is what each
            process gets.
        dispatch_batches: Whether only the main process reads the data and sends the others their part; None
            means so for iterable datasets.
        even_batches: Whether samples are repeated at the end until all processes have equally full batches.
        use_seedable_sampler: Whether a random sampler is replaced by one whose order depends on seed and
            epoch alone.
        data_seed: Seed of that sampler; None takes one from torch's generator.
        non_blocking: Whether copies to the device may overlap with computation, where the device allows it.
        use_stateful_dataloader: Whether the loader's own `state_dict` (torchdata) carries its position.
    """

    split_batches: bool = False
    dispatch_batches: bool | None = None
    even_batches: bool = True
    use_seedable_sampler: bool = False
    data_seed: int | None = None
    non_blocking: bool = False
    use_stateful_dataloader: bool = False
