from __future__ import annotations

import logging

import pytest
import torch

from accelerate import runtime
from accelerate.launch import environment
from accelerate.process import ProcessControl, get_logger
from accelerate.topology import Topology


def _at(rank: int, local_rank: int, world: int = 4) -> ProcessControl:
    runtime.start()
    runtime.change(
        topology=Topology(rank=rank, world=world, local_rank=local_rank, local_world=2, node=rank // 2, nodes=2)
    )
    return ProcessControl()


def test_one_process_is_first_last_and_alone() -> None:
    control = ProcessControl()
    assert control.is_main_process
    assert control.is_local_main_process
    assert control.is_last_process
    assert not control.use_distributed
    assert control.num_processes == 1
    assert control.device.type in ("cpu", "cuda", "mps")


@pytest.mark.parametrize(
    ("rank", "local_rank", "main", "local_main", "last"),
    [(0, 0, True, True, False), (1, 1, False, False, False), (2, 0, False, True, False), (3, 1, False, False, True)],
)
def test_decorated_functions_run_where_they_should(
    rank: int, local_rank: int, main: bool, local_main: bool, last: bool
) -> None:
    control = _at(rank, local_rank)

    def work() -> int:
        """Count."""
        return 7

    assert (control.on_main_process(work)() == 7) is main
    assert (control.on_local_main_process(work)() == 7) is local_main
    assert (control.on_last_process(work)() == 7) is last
    assert (control.on_process(work, process_index=2)() == 7) is (rank == 2)
    assert (control.on_local_process(local_process_index=1)(work)() == 7) is (local_rank == 1)
    assert control.on_process(work)() == 7
    assert control.on_main_process(work).__doc__ == "Count."


@pytest.mark.parametrize(("local_rank", "expected"), [(0, "a b\n"), (1, "")])
def test_printing_is_for_one_process_a_machine(
    local_rank: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _at(local_rank, local_rank).print("a", "b")
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_the_first_process_goes_before_the_others(rank: int) -> None:
    events: list[str] = []

    class Watched(ProcessControl):
        def wait_for_everyone(self) -> None:
            events.append("wait")

    _at(rank, rank)

    def fail() -> None:
        events.append("work")
        raise KeyError

    for block in (Watched().main_process_first, Watched().local_main_process_first):
        events.clear()
        with pytest.raises(KeyError), block():
            fail()
        assert events == (["work", "wait"] if rank == 0 else ["wait", "work"])


@pytest.mark.parametrize("inputs", [[1, 2], (1,), {"a": [1]}, torch.ones(3)])
def test_one_process_gets_all_inputs(inputs: object) -> None:
    with ProcessControl().split_between_processes(inputs, apply_padding=True) as share:
        assert share is inputs


def test_a_logger_shows_what_the_variable_asks_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    with environment.patch(accelerate_log_level="debug"):
        early = get_logger("tests.process")
    early.debug("hello")
    assert "DEBUG:tests.process:hello" in capsys.readouterr().err
    assert get_logger("tests.plain").logger.level == logging.NOTSET
