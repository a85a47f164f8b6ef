"""The old name of `accelerate.data`."""

from accelerate.data.adapter import DataLoaderAdapter, DataLoaderStateMixin
from accelerate.data.dispatch import DataLoaderDispatcher
from accelerate.data.loader import DataLoaderShard
from accelerate.data.parts import get_sampler
from accelerate.data.prepare import prepare_data_loader
from accelerate.data.samplers import BatchSamplerShard, IterableDatasetShard, SeedableRandomSampler, SkipBatchSampler
from accelerate.data.skip import SkipDataLoader, skip_first_batches

__all__ = [
    "BatchSamplerShard",
    "DataLoaderAdapter",
    "DataLoaderDispatcher",
    "DataLoaderShard",
    "DataLoaderStateMixin",
    "IterableDatasetShard",
    "SeedableRandomSampler",
    "SkipBatchSampler",
    "SkipDataLoader",
    "get_sampler",
    "prepare_data_loader",
    "skip_first_batches",
]
