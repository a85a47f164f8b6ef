from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from accelerate.data.adapter import DataLoaderAdapter, DataLoaderStateMixin
from accelerate.data.loader import DataLoaderShard
from accelerate.data.prepare import prepare_data_loader
from accelerate.errors import ConfigError
from accelerate.training.accumulation import GradientState

has_torchdata = importlib.util.find_spec("torchdata") is not None


def numbers(count: int) -> Any:
    return torch.arange(count)


class TestAdapter:
    def test_builds_the_inner_loader(self) -> None:
        adapter = DataLoaderAdapter(numbers(5), batch_size=2, drop_last=True)
        assert [batch.tolist() for batch in adapter] == [[0, 1], [2, 3]]
        assert (len(adapter), adapter.batch_size) == (2, 2)
        assert isinstance(adapter, DataLoader)

    def test_takes_a_batch_sampler(self) -> None:
        assert [batch.tolist() for batch in DataLoaderAdapter(numbers(5), batch_sampler=[[4], [0, 1]])] == [[4], [0, 1]]

    def test_goes_around_a_loader(self) -> None:
        inner = DataLoader(numbers(5), num_workers=1, multiprocessing_context="fork")
        adapter = DataLoaderAdapter(inner.dataset, base_dataloader=inner)
        assert adapter.base_dataloader is inner
        adapter.multiprocessing_context = "spawn"
        assert adapter.multiprocessing_context is inner.multiprocessing_context
        assert type(inner.multiprocessing_context).__name__ == "SpawnContext"


def test_mixin_reports_to_the_gradient_state() -> None:
    state, loop = GradientState(), DataLoaderStateMixin()
    loop.begin()
    loop.end_of_dataloader, loop.remainder = True, 3
    assert (state.active_dataloader, state.end_of_dataloader, state.remainder) == (loop, True, 3)
    loop.end()
    assert not state.in_dataloader
    loop.reset()
    assert (loop.end_of_dataloader, loop.remainder) == (False, -1)


@pytest.mark.skipif(has_torchdata, reason="torchdata is installed")
def test_without_torchdata_its_loader_is_refused() -> None:
    with pytest.raises(ConfigError, match='pip install "torchdata'):
        prepare_data_loader(DataLoader(numbers(3)), use_stateful_dataloader=True)
    with pytest.raises(ConfigError, match="torchdata"):
        DataLoaderShard(numbers(3), use_stateful_dataloader=True)


@pytest.mark.skipif(not has_torchdata, reason="torchdata is not installed")
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 with newer torch
class TestStateful:
    def make(self, workers: int = 0, **options: Any) -> DataLoaderShard:
        loader = DataLoader(numbers(7), batch_size=2, num_workers=workers, **options)
        prepared = prepare_data_loader(loader, use_stateful_dataloader=True)
        assert isinstance(prepared, DataLoaderShard)
        return prepared

    @pytest.mark.parametrize("workers", [0, 1])
    @pytest.mark.parametrize("shuffle", [False, True])
    @pytest.mark.parametrize("stop", [1, 3, 4])
    def test_goes_on_by_itself(self, workers: int, shuffle: bool, stop: int) -> None:
        torch.manual_seed(2)
        loader = self.make(workers, shuffle=shuffle)
        list(loader)
        states: list[dict[str, Any]] = []
        order: list[Any] = []
        for batch in loader:
            order.append(batch.tolist())
            states.append(loader.state_dict())
        again = self.make(workers, shuffle=shuffle)
        again.load_state_dict(states[stop - 1])
        if stop < 4:
            assert [batch.tolist() for batch in again] == order[stop:]
        assert again.iteration == (2 if stop < 4 else 1)
        assert sorted(int(i) for batch in again for i in batch) == list(range(7))

    def test_batch_samplers_and_streams_are_taken_over(self) -> None:
        assert [b.tolist() for b in prepare_data_loader(
            DataLoader(numbers(5), batch_sampler=[[4], [0, 1]]), use_stateful_dataloader=True
        )] == [[4], [0, 1]]  # fmt: skip
        inner = self.make().base_dataloader
        prepared = prepare_data_loader(inner, use_stateful_dataloader=True)
        assert isinstance(prepared, DataLoaderShard)
        assert prepared.base_dataloader is inner

    def test_an_own_iter_is_refused(self) -> None:
        class Own(DataLoader[Any]):
            def __iter__(self) -> Any:
                return super().__iter__()

        with pytest.raises(ConfigError, match="Own has an __iter__ of its own"):
            prepare_data_loader(Own(numbers(3)), use_stateful_dataloader=True)
