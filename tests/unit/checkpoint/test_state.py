from __future__ import annotations

import logging
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from accelerate.checkpoint import state
from accelerate.checkpoint.commit import Writer
from accelerate.checkpoint.state import Contents
from accelerate.errors import CheckpointError, ConfigError
from accelerate.plugins.project import ProjectConfiguration
from checkpoint_fakes import FakeDevice


class Meter:
    """An object of the script with a state of many types."""

    def __init__(self, **values: Any) -> None:
        self.values: Any = values

    def state_dict(self) -> Any:
        return self.values

    def load_state_dict(self, values: Any) -> None:
        self.values = values


class Loader(Meter):
    """A loader that knows its position."""

    use_stateful_dataloader = False


class StatefulLoader(Loader):
    """A loader of the stateful kind."""

    use_stateful_dataloader = True


class Private:
    """A type that only the script knows."""


def training(**changes: Any) -> Contents:
    """Everything that a run can hold, after one step."""
    models = [nn.Linear(2, 1), nn.Linear(1, 2)]
    optimizers = [torch.optim.AdamW(model.parameters()) for model in models]
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 1) for optimizer in optimizers]
    for model, optimizer, scheduler in zip(models, optimizers, schedulers, strict=True):
        model(torch.randn(3, model.in_features)).sum().backward()
        optimizer.step()
        scheduler.step()
    scaler = torch.amp.GradScaler("cpu", init_scale=random.randint(1, 1000))
    contents = Contents(
        models=models,
        optimizers=optimizers,
        schedulers=schedulers,
        dataloaders=[Loader(position=random.random()), object(), StatefulLoader(position=random.random())],
        scaler=scaler,
        custom=[Meter(best=np.float64(random.random()), seen={1, 2}, hist=np.arange(3), when=None)],
        devices=[FakeDevice()],
        step=7,
    )
    return replace(contents, **changes)


def states(holders: Iterable[object]) -> list[Any]:
    return [holder.state_dict() for holder in holders if isinstance(holder, (nn.Module, Loader))]


def snapshot(contents: Contents) -> str:
    holders = [*contents.optimizers, *contents.schedulers, *contents.custom]
    return repr(
        [*states(contents.models), *states(contents.dataloaders), *(holder.state_dict() for holder in holders)]
        + ([contents.scaler.state_dict()] if contents.scaler else [])
    )


@pytest.mark.parametrize("safe", [True, False])
def test_everything_comes_back(tmp_path: Path, safe: bool) -> None:
    before = training()
    assert state.save(tmp_path / "c", before, safe=safe) == tmp_path / "c"
    drawn = random.random(), float(np.random.rand()), float(torch.rand(1))
    after = training()
    after.devices[0].set_rng_state([torch.zeros(4, dtype=torch.uint8)] * 2)
    assert snapshot(after) != snapshot(before)
    assert state.load(tmp_path / "c", after) == 7
    assert snapshot(after) == snapshot(before)
    assert (random.random(), float(np.random.rand()), float(torch.rand(1))) == drawn
    assert [saved.tolist() for saved in after.devices[0].rng_state()] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_files_have_the_names_of_the_api(tmp_path: Path) -> None:
    state.save(tmp_path / "c", training())
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "custom_checkpoint_0.pkl",
        "dl_state_dict_2.bin",
        "model.safetensors",
        "model_1.safetensors",
        "optimizer.bin",
        "optimizer_1.bin",
        "random_states_0.pkl",
        "sampler.bin",
        "scaler.pt",
        "scheduler.bin",
        "scheduler_1.bin",
    ]


def test_a_new_save_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    state.save(tmp_path, training(), safe=False)
    state.save(tmp_path, Contents(models=[nn.Linear(1, 1)]))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["model.safetensors", "notes.txt", "random_states_0.pkl"]


def test_a_save_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    before = training()
    state.save(tmp_path / "c", before)
    with pytest.raises(CheckpointError, match=r"Cannot save custom_checkpoint_0\.pkl"):
        state.save(tmp_path / "c", training(custom=[Meter(f=lambda: 1)]))
    after = training()
    state.load(tmp_path / "c", after)
    assert snapshot(after) == snapshot(before)


def test_each_process_has_its_own_random_states(tmp_path: Path) -> None:
    state.save(tmp_path, training(), writer=Writer(rank=3))
    assert (tmp_path / "random_states_3.pkl").is_file()
    after = training()
    assert state.load(tmp_path, after, writer=Writer(rank=3, shared=False)) == 7


def test_a_process_that_did_not_save_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state.save(tmp_path, training())
    with caplog.at_level(logging.WARNING):
        assert state.load(tmp_path, training(), writer=Writer(rank=1, shared=False)) == 7
    assert "no random_states_1.pkl: the random generators of process 1 go on as they are" in caplog.text


def test_kinds_that_are_not_prepared_are_passed_over(tmp_path: Path) -> None:
    before = training(custom=[])
    state.save(tmp_path, before)
    after = training()
    state.load(tmp_path, Contents(models=after.models))
    assert repr(states(after.models)) == repr(states(before.models))


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        ("models", 1, "holds 2 models, but 1 are prepared"),
        ("models", 4, "holds 2 models, but 4 are prepared"),
        ("optimizers", 1, "holds 2 optimizers, but 1 are prepared"),
        ("schedulers", 4, "holds 2 schedulers, but 4 are prepared"),
        ("custom", 0, "holds 1 registered objects, but 0 are prepared"),
        ("custom", 2, "holds 1 registered objects, but 2 are prepared"),
    ],
)
def test_another_number_of_things_is_refused(tmp_path: Path, kind: str, number: int, text: str) -> None:
    state.save(tmp_path, training())
    held = training()
    before = snapshot(held)
    change: dict[str, Any] = {kind: (list(getattr(held, kind)) * 2)[:number]}
    with pytest.raises(CheckpointError, match=text) as caught:
        state.load(tmp_path, replace(held, **change))
    assert "\n" not in str(caught.value)
    assert snapshot(held) == before


def test_an_optimizer_of_another_shape_is_refused(tmp_path: Path) -> None:
    state.save(tmp_path, training())
    after = training()
    two_groups = torch.optim.SGD([{"params": [parameter]} for parameter in nn.Linear(2, 1).parameters()], lr=1)
    with pytest.raises(CheckpointError, match=r"The state in .*optimizer\.bin does not fit SGD: "):
        state.load(tmp_path, replace(after, optimizers=[two_groups, after.optimizers[1]]))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"There is no checkpoint .*nowhere"):
        state.load(tmp_path / "nowhere", Contents())


def test_a_folder_without_a_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        state.load(tmp_path, Contents())


@pytest.mark.parametrize("name", ["optimizer_1.bin", "scheduler.bin", "custom_checkpoint_0.pkl", "random_states_0.pkl"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    state.save(tmp_path, training())
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        state.load(tmp_path, training())


def test_random_states_of_another_form_are_refused(tmp_path: Path) -> None:
    state.save(tmp_path, training())
    torch.save([1], tmp_path / "random_states_0.pkl")
    with pytest.raises(CheckpointError, match=r"random_states_0\.pkl holds a list"):
        state.load(tmp_path, training())


def test_a_registered_object_that_will_not_load_is_told_of_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        state.save(tmp_path, training(custom=[Meter(inner=Private())]))
    assert "The registered Meter will not load again." in caplog.text
    assert ".Private" in caplog.text
    with pytest.raises(CheckpointError, match=r"custom_checkpoint_0\.pkl holds .*\.Private.*add_safe_globals"):
        state.load(tmp_path, training())
    trusting = training()
    state.load(tmp_path, trusting, options={"weights_only": False})
    assert isinstance(trusting.custom[0].state_dict()["inner"], Private)


def test_a_sampler_that_was_pickled_whole_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state.save(tmp_path, training())
    torch.save(Private(), tmp_path / "sampler.bin")
    after = training()
    position = states(after.dataloaders)[0]
    with caplog.at_level(logging.WARNING):
        state.load(tmp_path, after)
    assert "loader 0 starts with a new order" in caplog.text
    assert states(after.dataloaders)[0] == position


def test_a_position_in_another_form_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Picky(Loader):
        """A loader that looks at what it gets."""

        def load_state_dict(self, values: Any) -> None:
            super().load_state_dict({"position": values["position"]})

    state.save(tmp_path, training())
    torch.save({"_snapshot": 1}, tmp_path / "sampler.bin")
    after = training(dataloaders=[Picky(position=4)])
    with caplog.at_level(logging.WARNING):
        state.load(tmp_path, after)
    assert "as its form is another one (KeyError('position')): loader 0 starts with a new order" in caplog.text
    assert states(after.dataloaders) == [{"position": 4}]


def test_a_scaler_that_was_not_saved_starts_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state.save(tmp_path, training(scaler=torch.amp.GradScaler("cpu", enabled=False)))
    assert not (tmp_path / "scaler.pt").exists()
    with caplog.at_level(logging.WARNING):
        state.load(tmp_path, training())
    assert "the gradient scaler starts anew" in caplog.text


def test_names_that_differ_can_be_passed_over(tmp_path: Path) -> None:
    state.save(tmp_path, Contents(models=[nn.Linear(2, 2)]))
    model = nn.Linear(2, 2, bias=False)
    with pytest.raises(CheckpointError, match="unexpected bias"):
        state.load(tmp_path, Contents(models=[model]))
    state.load(tmp_path, Contents(models=[model]), model_options={"strict": False})


def test_only_what_has_a_state_can_be_registered() -> None:
    state.check_registrable([Meter(), nn.ReLU()])
    with pytest.raises(ConfigError, match="number 1 is int, number 2 is str"):
        state.check_registrable([Meter(), 3, "x"])


class TestNumbering:
    """Where the next save goes and what the next load takes, by ProjectConfiguration."""

    def test_it_counts_on_and_keeps_the_newest(self, tmp_path: Path) -> None:
        config = ProjectConfiguration(project_dir=str(tmp_path), automatic_checkpoint_naming=True, total_limit=3)
        model = nn.Linear(1, 1)
        for number in range(12):
            nn.init.constant_(model.weight, number)
            folder = state.target(config, None)
            state.save(folder, Contents(models=[model]))
            state.saved(config, folder)
        kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
        assert kept == ["checkpoint_10", "checkpoint_11", "checkpoint_9"]
        assert config.iteration == 12
        state.load(state.source(config, None), Contents(models=[model]))
        assert model.weight.item() == 11

    @pytest.mark.parametrize(("number", "expected"), [(11, 12), (9, 12)])
    def test_a_resumed_run_counts_on_without_overwriting(self, tmp_path: Path, number: int, expected: int) -> None:
        for there in (9, 10, 11):
            (tmp_path / "checkpoints" / f"checkpoint_{there}").mkdir(parents=True)
        config = ProjectConfiguration(project_dir=str(tmp_path), automatic_checkpoint_naming=True)
        state.loaded(config, tmp_path / "checkpoints" / f"checkpoint_{number}")
        assert config.iteration == expected
        assert state.target(config, None).name == f"checkpoint_{expected}"

    def test_a_checkpoint_with_a_name_of_its_own_does_not_count(self, tmp_path: Path) -> None:
        config = ProjectConfiguration(project_dir=str(tmp_path), automatic_checkpoint_naming=True, iteration=4)
        state.loaded(config, tmp_path / "best")
        assert config.iteration == 4

    def test_without_automatic_naming_the_path_counts(self, tmp_path: Path) -> None:
        config = ProjectConfiguration()
        assert state.target(config, tmp_path) == tmp_path
        assert state.source(config, str(tmp_path)) == tmp_path
        state.saved(config, tmp_path)
        assert config.iteration == 0

    def test_a_path_that_is_not_used_is_told_of(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        config = ProjectConfiguration(project_dir=str(tmp_path), automatic_checkpoint_naming=True)
        with caplog.at_level(logging.WARNING):
            assert state.target(config, "elsewhere") == tmp_path / "checkpoints" / "checkpoint_0"
        assert "save_state('elsewhere')" in caplog.text

    def test_no_path_at_all_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="got no output_dir"):
            state.target(ProjectConfiguration(), None)
        with pytest.raises(ConfigError, match="got no input_dir"):
            state.source(ProjectConfiguration(), None)
        with pytest.raises(ConfigError, match="there is no project_dir"):
            state.target(ProjectConfiguration(automatic_checkpoint_naming=True), None)
