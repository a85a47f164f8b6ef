from __future__ import annotations

import gc
import itertools
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from accelerate import Accelerator
from accelerate.devices.base import Traits
from accelerate.errors import CheckpointError, ConfigError, DeviceError
from accelerate.launch import environment
from accelerate.plugins.accumulation import GradientAccumulationPlugin
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.data import DataLoaderConfiguration
from accelerate.plugins.handlers import AutocastKwargs, GradScalerKwargs
from accelerate.plugins.profile import ProfileKwargs
from accelerate.plugins.project import ProjectConfiguration
from accelerate.training.compile import is_compiled_module
from accelerate.training.optimizer import AcceleratedOptimizer
from accelerate.training.scheduler import AcceleratedScheduler
from fake_device import FakeBackend, registered

SCALING = Traits(
    kind="cpu",
    collective="gloo",
    autocast_dtypes=frozenset({torch.float16, torch.bfloat16}),
    scaler=True,
)


def _ones(accelerator: Accelerator, *shape: int) -> torch.Tensor:
    return torch.ones(*shape, device=accelerator.device)


def _parts() -> dict[str, Any]:
    model = torch.nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (step + 1))
    ones: Dataset[Any] = torch.utils.data.TensorDataset(torch.ones(6, 1))
    return {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": DataLoader(ones, batch_size=1)}


@pytest.mark.parametrize("order", list(itertools.permutations(("model", "optimizer", "schedule", "loader"))))
def test_parts_can_be_prepared_in_any_order(order: tuple[str, ...]) -> None:
    accelerator, parts = Accelerator(), _parts()
    prepared = dict(zip(order, accelerator.prepare(*(parts[name] for name in order)), strict=True))
    assert prepared["model"] is parts["model"]
    assert isinstance(prepared["optimizer"], AcceleratedOptimizer)
    assert isinstance(prepared["schedule"], AcceleratedScheduler)
    assert prepared["schedule"].optimizers == [prepared["optimizer"]]
    assert isinstance(prepared["loader"], DataLoader)


@pytest.mark.parametrize("again", ["prepared", "raw"])
def test_preparing_twice_changes_nothing(again: str) -> None:
    accelerator, parts = Accelerator(mixed_precision="bf16"), _parts()
    first = accelerator.prepare(parts["model"], parts["optimizer"], parts["schedule"], parts["loader"])
    forward = first[0].forward
    second = accelerator.prepare(*(first if again == "prepared" else list(parts.values())[:3]))
    assert all(one is other for one, other in zip(first, second, strict=False))
    assert first[0].forward is forward
    assert len(accelerator._models) == len(accelerator._optimizers) == len(accelerator._schedulers) == 1


def test_a_plain_run_does_not_load_torchs_compiler() -> None:
    script = (
        "import sys, torch; from accelerate import Accelerator; a = Accelerator(mixed_precision='bf16'); "
        "m = a.unwrap_model(a.prepare(torch.nn.Linear(1, 1))); a.get_state_dict(m); "
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_other_objects_come_back_as_they_are_and_one_object_comes_alone() -> None:
    accelerator = Accelerator()
    assert accelerator.prepare(3, "x", None) == (3, "x", None)
    model = torch.nn.Linear(1, 1)
    assert accelerator.prepare(model) is model


def test_placement_can_be_said_for_each_object() -> None:
    accelerator = Accelerator()
    model = torch.nn.Linear(1, 1, device="meta")
    with pytest.raises(ConfigError, match="'weight' of the model is on the meta device"):
        accelerator.prepare(model)
    with pytest.raises(ConfigError, match="1 items for 2 objects"):
        accelerator.prepare(model, 3, device_placement=[False])


def test_a_scheduler_of_a_foreign_optimizer_waits_for_all() -> None:
    accelerator, parts, other = Accelerator(), _parts(), _parts()
    optimizer, schedule = accelerator.prepare(parts["optimizer"], other["schedule"])
    assert schedule.optimizers == [optimizer]


def _loop(accelerator: Accelerator, on_step: Callable[[torch.nn.Module], None] | None = None) -> list[float]:
    """Train over six batches of one; returns the learning rate after each."""
    parts = _parts()
    model, optimizer, schedule, loader = accelerator.prepare(*parts.values())
    rates = []
    for (batch,) in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).mean())
            if accelerator.sync_gradients and on_step is not None:
                on_step(model)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            rates.append(schedule.get_last_lr()[0])
    return rates


def test_windows_accumulate_the_mean_and_the_schedule_waits() -> None:
    gradients: list[float] = []
    rates = _loop(
        Accelerator(gradient_accumulation_steps=4),
        lambda model: gradients.append(model.weight.grad.item()),  # pyrefly: ignore
    )
    assert gradients == [1.0, 1.0]
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.1 / 3])


@pytest.mark.parametrize(("argument", "variable", "expected"), [(2, None, 2), (2, "3", 3), (1, "3", 3), (1, None, 1)])
def test_the_launchers_accumulation_wins(argument: int, variable: str | None, expected: int) -> None:
    with environment.patch(accelerate_gradient_accumulation_steps=variable):
        accelerator = Accelerator(gradient_accumulation_steps=argument)
    assert accelerator.gradient_accumulation_steps == expected


def test_a_new_accelerator_begins_a_new_window() -> None:
    accelerator = Accelerator(gradient_accumulation_steps=2)
    with accelerator.accumulate():
        assert not accelerator.sync_gradients
    again = Accelerator(gradient_accumulation_steps=2)
    with again.accumulate():
        assert not again.sync_gradients


def test_accumulation_is_said_once_and_can_be_changed() -> None:
    with pytest.raises(ConfigError, match="Give one of them"):
        Accelerator(
            gradient_accumulation_steps=2,
            gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=3),
        )
    accelerator = Accelerator(gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=3))
    accelerator.gradient_accumulation_steps = 5
    assert accelerator.gradient_state.num_steps == 5
    accelerator.sync_gradients = False
    assert not accelerator.gradient_state.sync_gradients


def test_gradients_are_clipped_by_norm_and_by_value() -> None:
    accelerator, model = Accelerator(), torch.nn.Linear(2, 1, bias=False)
    model = accelerator.prepare(model)
    accelerator.backward((model(torch.tensor([[3.0, 4.0]], device=accelerator.device))).sum())
    assert accelerator.clip_grad_norm_(model.parameters(), 1.0).item() == pytest.approx(5.0)
    assert model.weight.grad.tolist()[0] == pytest.approx([0.6, 0.8], abs=1e-4)
    accelerator.clip_grad_value_(model.weight, 0.5)
    assert model.weight.grad.tolist() == [[0.5, 0.5]]


def test_fp16_unscales_once_a_step_whatever_is_clipped_inside_a_window() -> None:
    norms: list[float] = []
    with registered(FakeBackend("cpu", SCALING)):
        accelerator = Accelerator(
            mixed_precision="fp16",
            gradient_accumulation_steps=2,
            kwargs_handlers=[GradScalerKwargs(init_scale=64.0), AutocastKwargs(enabled=False)],
        )
        model, optimizer = accelerator.prepare(
            model := torch.nn.Linear(1, 1, bias=False), torch.optim.SGD(model.parameters(), lr=1.0)
        )
        start = model.weight.item()
        for _ in range(2):
            with accelerator.accumulate(model):
                accelerator.backward(model(torch.ones(1, 1)).sum())
                norms.append(accelerator.clip_grad_norm_(model.parameters(), 100.0).item())
                norms.append(accelerator.clip_grad_norm_(model.parameters(), 100.0).item())
                accelerator.clip_grad_value_(model.parameters(), 100.0)
                optimizer.step()
                optimizer.zero_grad()
    assert norms == [0.5, 0.5, 1.0, 1.0]
    assert model.weight.item() == pytest.approx(start - 1.0)
    assert accelerator.scaler is not None
    assert not accelerator.optimizer_step_was_skipped


def test_fp16_skips_a_step_with_infinities_and_says_so() -> None:
    with registered(FakeBackend("cpu", SCALING)):
        accelerator = Accelerator(mixed_precision="fp16")
        model, optimizer = accelerator.prepare(
            model := torch.nn.Linear(1, 1), torch.optim.SGD(model.parameters(), lr=1.0)
        )
        accelerator.backward((model(torch.ones(1, 1)) * torch.inf).sum())
        optimizer.step()
    assert accelerator.optimizer_step_was_skipped


def test_bf16_computes_in_bf16_and_gives_float32() -> None:
    accelerator = Accelerator(mixed_precision="bf16")
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    assert model(_ones(accelerator, 1, 2)).dtype == torch.float32
    with accelerator.autocast():
        assert (_ones(accelerator, 1, 1) @ _ones(accelerator, 1, 1)).dtype == torch.bfloat16
    with accelerator.autocast(AutocastKwargs(enabled=False)):
        assert (_ones(accelerator, 1, 1) @ _ones(accelerator, 1, 1)).dtype == torch.float32
    assert accelerator.native_amp
    assert accelerator.scaler is None
    accelerator.unscale_gradients()
    unwrapped = accelerator.unwrap_model(model, keep_fp32_wrapper=False)
    assert "forward" not in unwrapped.__dict__


def test_a_precision_that_the_cpu_lacks_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"'fp16'.*Use bf16 or no"):
        Accelerator(cpu=True, mixed_precision="fp16")


def test_models_are_compiled_when_asked_and_saved_under_their_own_names(tmp_path: Path) -> None:
    accelerator = Accelerator(dynamo_backend="eager")
    model = accelerator.prepare(torch.nn.Linear(1, 1))
    assert is_compiled_module(model)
    assert not is_compiled_module(accelerator.unwrap_model(model, keep_torch_compile=False))
    assert list(accelerator.get_state_dict(model)) == ["weight", "bias"]
    accelerator.save_state(tmp_path / "state")
    with torch.no_grad():
        model.weight.fill_(7.0)
    accelerator.load_state(tmp_path / "state")
    assert model.weight.item() != 7.0
    with pytest.raises(ConfigError, match="dynamo_backend and dynamo_plugin"):
        Accelerator(dynamo_backend="eager", dynamo_plugin=TorchDynamoPlugin())


@pytest.mark.parametrize(
    ("handlers", "message"),
    [([3], r"holds a int\. Allowed are AutocastKwargs"), ([AutocastKwargs(), AutocastKwargs()], "more than one Auto")],
)
def test_handlers_that_are_unknown_or_doubled_are_refused(handlers: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Accelerator(kwargs_handlers=handlers)


def test_loader_options_can_be_read_and_reach_the_loaders() -> None:
    config = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=3, non_blocking=True)
    accelerator = Accelerator(dataloader_config=config, split_batches=True)
    assert accelerator.split_batches
    assert accelerator.use_seedable_sampler
    assert accelerator.non_blocking
    assert accelerator.dispatch_batches is None
    assert not accelerator.use_stateful_dataloader
    accelerator.even_batches = False
    assert not accelerator.even_batches

    def order() -> list[int]:
        loader = accelerator.prepare(DataLoader(range(8), batch_size=1, shuffle=True))  # pyrefly: ignore
        return [int(batch) for batch in loader]

    assert order() == order() != list(range(8))


def test_metrics_of_one_process_are_complete() -> None:
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(torch.arange(5), batch_size=2))  # pyrefly: ignore
    gathered = [accelerator.gather_for_metrics({"x": batch})["x"] for batch in loader]
    assert torch.cat(gathered).tolist() == [0, 1, 2, 3, 4]
    losses = [accelerator.gather_for_metrics((batch.sum().repeat(2), batch.sum())) for batch in loader]
    assert [repeated.tolist() for repeated, _ in losses] == [[1, 1], [5, 5], [4]]
    assert [single.item() for _, single in losses] == [1, 5, 4]
    names = [accelerator.gather_for_metrics(["a", "b"]) for _ in loader]
    assert names == [["a", "b"], ["a", "b"], ["a"]]
    assert accelerator.gather_for_metrics(["a", 1]) == ["a", 1]
    assert accelerator.gather_for_metrics(torch.ones(1), use_gather_object=True).tolist() == [1.0]
    assert accelerator.gather(torch.ones(1)).tolist() == [1.0]
    assert accelerator.reduce(torch.ones(1), scale=3.0).tolist() == [3.0]
    assert accelerator.pad_across_processes(torch.ones(1)).tolist() == [1.0]


def test_a_trigger_is_seen_once() -> None:
    accelerator = Accelerator()
    assert not accelerator.check_trigger()
    accelerator.set_trigger()
    assert accelerator.check_trigger()
    assert not accelerator.check_trigger()


def test_freed_objects_are_gone() -> None:
    accelerator, parts = Accelerator(), _parts()
    model, optimizer = accelerator.prepare(parts.pop("model"), parts.pop("optimizer"))
    parts.clear()
    reference = weakref.ref(model)
    model, optimizer = accelerator.free_memory(model, optimizer)
    gc.collect()
    assert (model, optimizer) == (None, None)
    assert reference() is None
    assert accelerator._models == []
    assert accelerator.clear(3) == [None]


def test_contexts_of_one_process_do_nothing() -> None:
    accelerator, model = Accelerator(), torch.nn.Linear(1, 1)
    with (
        accelerator.no_sync(model),
        accelerator.trigger_sync_in_backward(model),
        accelerator.join_uneven_inputs([model], even_batches=False),
    ):
        assert not accelerator.verify_device_map(model)


@pytest.mark.filterwarnings("ignore:.*Profiler clears events")
def test_a_profile_is_recorded_and_written(tmp_path: Path) -> None:
    accelerator = Accelerator(kwargs_handlers=[ProfileKwargs(activities=["cpu"])])
    with accelerator.profile() as profiler:
        torch.ones(2) + 1
    assert any(event.key == "aten::add" for event in profiler.key_averages())
    with accelerator.profile(ProfileKwargs(activities=["cpu"], output_trace_dir=str(tmp_path / "traces"))):
        torch.ones(2) + 1
    assert json.loads((tmp_path / "traces" / "profile_0.json").read_text())["traceEvents"]


class Counter:
    """An object of the script's own with a state."""

    def __init__(self) -> None:
        self.count = 0

    def state_dict(self) -> dict[str, int]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.count = state["count"]


def test_a_state_brings_back_weights_optimizers_schedules_counters_and_own_objects(tmp_path: Path) -> None:
    def build() -> tuple[Accelerator, Any, Any, Any, Counter]:
        accelerator, parts, counter = Accelerator(gradient_accumulation_steps=4), _parts(), Counter()
        accelerator.register_for_checkpointing(counter)
        return accelerator, *accelerator.prepare(parts["model"], parts["optimizer"], parts["schedule"]), counter

    accelerator, model, optimizer, schedule, counter = build()
    for _ in range(6):
        with accelerator.accumulate(model):
            accelerator.backward(model(_ones(accelerator, 1, 1)).mean())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    counter.count = 9
    accelerator.save_state(tmp_path / "state")
    drawn_after = torch.rand(3), torch.rand(3, device=accelerator.device)
    resumed, model2, _, schedule2, counter2 = build()
    resumed.load_state(tmp_path / "state")
    assert torch.equal(torch.rand(3), drawn_after[0])
    assert torch.equal(torch.rand(3, device=resumed.device), drawn_after[1])
    assert torch.equal(model2.weight, model.weight)
    assert schedule2.get_last_lr() == schedule.get_last_lr()
    assert counter2.count == 9
    assert resumed.step == 6


def test_hooks_can_keep_models_out_of_saves_and_loads(tmp_path: Path) -> None:
    accelerator = Accelerator()
    accelerator.prepare(torch.nn.Linear(1, 1))
    calls: list[str] = []

    def on_save(models: list[Any], weights: list[Any], folder: str) -> None:
        calls.append(f"save {len(models)} {folder}")
        weights.clear()

    def on_load(models: list[Any], folder: str) -> None:
        calls.append(f"load {len(models)}")
        models.clear()

    saving = accelerator.register_save_state_pre_hook(on_save)
    accelerator.register_load_state_pre_hook(on_load)
    folder = accelerator.save_state(tmp_path / "state")
    assert "model.safetensors" not in [path.name for path in folder.iterdir()]
    accelerator.load_state(folder)
    assert calls == [f"save 1 {folder}", "load 1"]
    saving.remove()
    accelerator.save_state(folder)
    assert (folder / "model.safetensors").is_file()


def test_automatic_names_count_on_and_old_checkpoints_go(tmp_path: Path) -> None:
    config = ProjectConfiguration(project_dir=tmp_path, automatic_checkpoint_naming=True, total_limit=2)
    accelerator = Accelerator(project_config=config)
    for _ in range(3):
        accelerator.save_state()
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["checkpoint_1", "checkpoint_2"]
    assert accelerator.save_iteration == 3
    assert accelerator.project_dir == accelerator.logging_dir == tmp_path
    accelerator.load_state()


def test_saving_and_loading_nowhere_is_refused(tmp_path: Path) -> None:
    accelerator = Accelerator(project_dir=tmp_path)
    assert accelerator.project_dir == tmp_path
    with pytest.raises(ConfigError, match="no output_dir"):
        accelerator.save_state()
    with pytest.raises(CheckpointError, match="There is no checkpoint"):
        accelerator.load_state(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="number 0 is int"):
        accelerator.register_for_checkpointing(3)


def test_weights_and_single_objects_are_written(tmp_path: Path) -> None:
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(8, 8))
    accelerator.save_model(model, tmp_path / "model", max_shard_size=200)
    assert len(list((tmp_path / "model").glob("*.safetensors"))) == 2
    accelerator.save({"a": torch.ones(1)}, tmp_path / "one.pt")
    assert torch.load(tmp_path / "one.pt")["a"].tolist() == [1.0]


def test_batches_can_be_skipped() -> None:
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(torch.arange(4), batch_size=1))  # pyrefly: ignore
    assert [int(batch) for batch in accelerator.skip_first_batches(loader, 3)] == [3]


def test_trackers_get_what_is_logged(tmp_path: Path) -> None:
    accelerator = Accelerator(log_with="tensorboard", project_dir=tmp_path)
    accelerator.log({"too": 1.0}, step=0)
    accelerator.init_trackers("run", config={"lr": 0.1})
    accelerator.log({"loss": 0.5}, step=1)
    assert accelerator.get_tracker("tensorboard").name == "tensorboard"
    accelerator.end_training()
    assert accelerator.trackers == []
    assert list(tmp_path.rglob("events.out.tfevents.*"))


@pytest.mark.parametrize(
    "name",
    ["data_parallel_rank", "data_parallel_shard_rank", "tensor_parallel_rank", "pipeline_parallel_rank",
     "context_parallel_rank"],
)  # fmt: skip
def test_ranks_of_parallelism_that_there_is_none_of_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"This run has no .*parallelism"):
        getattr(Accelerator(), name)


def test_sequences_are_not_split() -> None:
    accelerator = Accelerator()
    loader = object()
    assert accelerator.deepspeed_ulysses_dl_adapter(loader, None) is loader
    with accelerator.maybe_context_parallel(buffers=[], buffer_seq_dims=[]):
        assert accelerator.parallelism_config is None
    with pytest.raises(ConfigError, match="LOMO"):
        accelerator.lomo_backward(torch.ones(()), 0.1)
    with pytest.raises(ConfigError, match="fsdp_plugin"):
        Accelerator(fsdp_plugin=object())
