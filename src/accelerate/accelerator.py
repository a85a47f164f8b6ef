"""The object that a training script talks to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader
from torch.utils.hooks import RemovableHandle

from accelerate import memory, runtime, saving
from accelerate.checkpoint import state as checkpoint_state
from accelerate.checkpoint import weights
from accelerate.checkpoint.commit import Writer
from accelerate.checkpoint.state import Contents
from accelerate.configured import Configured
from accelerate.constants import PROFILE_PATTERN_NAME
from accelerate.data.prepare import prepare_data_loader
from accelerate.data.skip import skip_first_batches
from accelerate.devices import registry
from accelerate.distributed.nested import Nested, first_samples, holds_only_tensors
from accelerate.errors import ConfigError
from accelerate.parallelism import Unshared
from accelerate.plugins.accumulation import GradientAccumulationPlugin
from accelerate.plugins.base import KwargsHandler
from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.data import DataLoaderConfiguration
from accelerate.plugins.handlers import (
    AutocastKwargs,
    DistributedDataParallelKwargs,
    GradScalerKwargs,
    InitProcessGroupKwargs,
)
from accelerate.plugins.profile import ProfileKwargs
from accelerate.plugins.project import ProjectConfiguration
from accelerate.precision import choose as choose_precision
from accelerate.precision.scaling import unscale_once
from accelerate.settings.sections import Settings
from accelerate.state import AcceleratorState, refuse_plugins
from accelerate.strategies.base import Context
from accelerate.tracking import registry as trackers
from accelerate.tracking.base import GeneralTracker
from accelerate.training.accumulation import GradientState, loss_divisor, next_batch
from accelerate.training.optimizer import AcceleratedOptimizer
from accelerate.training.scheduler import AcceleratedScheduler
from accelerate.training.wrapping import extract_model_from_parallel, is_prepared, is_spread, mark_prepared

_HANDLERS: dict[type[KwargsHandler], str] = {
    AutocastKwargs: "autocast_handler",
    DistributedDataParallelKwargs: "ddp_handler",
    GradScalerKwargs: "scaler_handler",
    InitProcessGroupKwargs: "init_handler",
    ProfileKwargs: "profile_handler",
}


class Accelerator(Unshared, Configured):
    """Runs a training loop on the best device of this machine, in the precision and with the accumulation asked for.

    What the script does not say, the launcher does (`accelerate launch`, its configuration file and variables).

    Args:
        device_placement: Whether `prepare` moves models and batches to the device.
        split_batches: Old name of `DataLoaderConfiguration.split_batches`.
        mixed_precision: `no`, `fp16` or `bf16`; None takes the launcher's choice.
        gradient_accumulation_steps: Batches per optimizer step; the launcher's choice wins.
        cpu: Run on the CPU even where there is another device.
        dataloader_config: How loaders are prepared.
        deepspeed_plugin, fsdp_plugin, torch_tp_plugin, megatron_lm_plugin, deepspeed_plugins: Must be None.
        rng_types: Generators that processes hold equal at the start of an epoch; `generator` is the loader's own.
        log_with: Trackers, by name or as objects.
        project_dir: Folder of checkpoints and logs.
        project_config: The same, and how checkpoints are named.
        gradient_accumulation_plugin: The same as `gradient_accumulation_steps`, with more options.
        step_scheduler_with_optimizer: Whether schedulers wait for steps of the optimizers; False steps at every call.
        kwargs_handlers: Options for torch's autocast, gradient scaler and profiler.
        dynamo_backend: Compile prepared models with this backend.
        dynamo_plugin: The same, with more options.
        parallelism_config: How the model would be shared; its total size must be 1.

    Raises:
        ConfigError: Arguments that are not allowed or contradict each other.
        DeviceError: The device lacks the precision.
        LaunchError: This is one of several processes.
    """

    def __init__(
        self,
        device_placement: bool = True,
        split_batches: bool | None = None,
        mixed_precision: str | None = None,
        gradient_accumulation_steps: int = 1,
        cpu: bool = False,
        dataloader_config: DataLoaderConfiguration | None = None,
        deepspeed_plugin: Any = None,
        fsdp_plugin: Any = None,
        torch_tp_plugin: Any = None,
        megatron_lm_plugin: Any = None,
        rng_types: list[str] | None = None,
        log_with: Any = None,
        project_dir: str | PathLike[str] | None = None,
        project_config: ProjectConfiguration | None = None,
        gradient_accumulation_plugin: GradientAccumulationPlugin | None = None,
        step_scheduler_with_optimizer: bool = True,
        kwargs_handlers: Sequence[KwargsHandler] | None = None,
        dynamo_backend: str | None = None,
        dynamo_plugin: TorchDynamoPlugin | None = None,
        deepspeed_plugins: Any = None,
        parallelism_config: Any = None,
    ) -> None:
        refuse_plugins(deepspeed_plugins=deepspeed_plugins)
        self.project_configuration = project_config or ProjectConfiguration(project_dir=project_dir)
        if project_dir is not None and self.project_dir is None:
            self.project_configuration.set_directories(project_dir)
        self._take_handlers(kwargs_handlers or ())
        if dynamo_backend is not None:
            if dynamo_plugin is not None:
                raise ConfigError("dynamo_backend and dynamo_plugin are both given.", fix="Give one of them.")
            dynamo_plugin = TorchDynamoPlugin(backend=dynamo_backend)
        self.state = AcceleratorState(
            mixed_precision=mixed_precision,
            cpu=cpu,
            dynamo_plugin=dynamo_plugin,
            deepspeed_plugin=deepspeed_plugin,
            fsdp_plugin=fsdp_plugin,
            torch_tp_plugin=torch_tp_plugin,
            megatron_lm_plugin=megatron_lm_plugin,
            parallelism_config=parallelism_config,
            _from_accelerator=True,
            **({} if self.init_handler is None else self.init_handler.to_kwargs()),
        )
        self._precision = choose_precision.choose(
            self.mixed_precision, self.runtime.backend.traits, self.autocast_handler, self.scaler_handler
        )
        runtime.change(precision=self._precision)
        self.gradient_state = GradientState(
            _accumulation(gradient_accumulation_steps, gradient_accumulation_plugin, self.runtime.settings)
        )
        self.step = 0
        self.device_placement = device_placement
        self.dataloader_config = dataloader_config or DataLoaderConfiguration()
        if split_batches is not None:
            self.dataloader_config.split_batches = split_batches
        self.step_scheduler_with_optimizer = step_scheduler_with_optimizer
        self.rng_types = rng_types if rng_types is not None else ["generator"]
        self.log_with = trackers.filter_trackers(log_with, self.logging_dir)
        self.trackers: list[GeneralTracker] = []
        self._models: list[torch.nn.Module] = []
        self._optimizers: list[AcceleratedOptimizer] = []
        self._schedulers: list[AcceleratedScheduler] = []
        self._dataloaders: list[Any] = []
        self._custom_objects: list[Any] = []
        self._save_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._load_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._trigger = False

    @property
    def scaler(self) -> torch.amp.GradScaler | None:
        """The gradient scaler of fp16; None for other precisions."""
        return self._precision.scaler

    @property
    def optimizer_step_was_skipped(self) -> bool:
        """Whether a prepared optimizer's last step did not update weights because gradients were not finite."""
        return any(optimizer.step_was_skipped for optimizer in self._optimizers)

    def _take_handlers(self, handlers: Sequence[KwargsHandler]) -> None:
        self.autocast_handler: AutocastKwargs | None = None
        self.ddp_handler: DistributedDataParallelKwargs | None = None
        self.scaler_handler: GradScalerKwargs | None = None
        self.init_handler: InitProcessGroupKwargs | None = None
        self.profile_handler: ProfileKwargs | None = None
        for handler in handlers:
            name = _HANDLERS.get(type(handler))
            if name is None:
                allowed = ", ".join(kind.__name__ for kind in _HANDLERS)
                raise ConfigError(f"kwargs_handlers holds a {type(handler).__name__}.", f"Allowed are {allowed}.")
            if getattr(self, name) is not None:
                raise ConfigError(f"kwargs_handlers holds more than one {type(handler).__name__}.", fix="Give one.")
            setattr(self, name, handler)

    # -------------------------------------------------------------------------------------------------------- prepare

    def prepare(self, *args: Any, device_placement: list[bool | None] | None = None) -> Any:
        """Return models, optimizers, loaders and schedulers ready for the loop, in the order given.

        Models are moved and their forward changed in place; the others are wrapped. What is prepared already, and
        objects of other kinds, come back as they are.

        Args:
            args: The objects. The order does not matter; a scheduler may come before its optimizer.
            device_placement: For each object whether it is moved to the device; None takes the default.

        Raises:
            ConfigError: `device_placement` has another length, or a model cannot be moved.
        """
        placements = device_placement if device_placement is not None else [None] * len(args)
        if len(placements) != len(args):
            raise ConfigError(
                f"device_placement has {len(placements)} items for {len(args)} objects.", fix="Give one for each."
            )
        prepared = [self._prepare_one(obj, place) for obj, place in zip(args, placements, strict=True)]
        # Schedulers come last: they need the prepared optimizers.
        prepared = [self.prepare_scheduler(obj) if isinstance(obj, LRScheduler) else obj for obj in prepared]
        return prepared[0] if len(prepared) == 1 else tuple(prepared)

    def _prepare_one(self, obj: Any, device_placement: bool | None) -> Any:
        if isinstance(obj, DataLoader):
            return self.prepare_data_loader(obj, device_placement=device_placement)
        if isinstance(obj, torch.nn.Module):
            return self.prepare_model(obj, device_placement=device_placement)
        if isinstance(obj, torch.optim.Optimizer):
            return self.prepare_optimizer(obj, device_placement=device_placement)
        return obj

    def prepare_model(
        self, model: torch.nn.Module, device_placement: bool | None = None, evaluation_mode: bool = False
    ) -> torch.nn.Module:
        """Return `model` on the device, computing in the precision asked for, compiled if asked for.

        Args:
            model: Changed in place.
            device_placement: Whether it is moved; None takes the default.
            evaluation_mode: Whether it will only be evaluated.
        """
        if not is_prepared(model):
            strategy = self.runtime.strategy
            context = Context(
                device=self.device,
                collectives=self.runtime.collectives,
                precision=self._precision,
                compile=self.runtime.compile,
            )
            place = self.device_placement if device_placement is None else device_placement
            strategy.check(model, context)
            model = strategy.wrap(model, context, place=place, evaluation_only=evaluation_mode)
            mark_prepared(model)
        return _remember(self._models, model)

    def prepare_optimizer(
        self, optimizer: torch.optim.Optimizer, device_placement: bool | None = None
    ) -> AcceleratedOptimizer:
        """Return `optimizer` wrapped so that it heeds accumulation windows and the gradient scaler."""
        if isinstance(optimizer, AcceleratedOptimizer):
            return _remember(self._optimizers, optimizer)
        for known in self._optimizers:
            if known.optimizer is optimizer:
                return known
        place = self.device_placement if device_placement is None else device_placement
        wrapped = AcceleratedOptimizer(optimizer, device_placement=place, scaler=self.scaler)
        mark_prepared(wrapped)
        return _remember(self._optimizers, wrapped)

    def prepare_scheduler(self, scheduler: Any) -> AcceleratedScheduler:
        """Return `scheduler` wrapped so that it steps only when its optimizer does, or when any prepared one does."""
        if isinstance(scheduler, AcceleratedScheduler):
            return _remember(self._schedulers, scheduler)
        for known in self._schedulers:
            if known.scheduler is scheduler:
                return known
        its = getattr(scheduler, "optimizer", None)
        own = [
            optimizer for optimizer in self._optimizers if its is not None and its in (optimizer, optimizer.optimizer)
        ]
        wrapped = AcceleratedScheduler(
            scheduler,
            own or self._optimizers,
            step_with_optimizer=self.step_scheduler_with_optimizer,
            split_batches=self.split_batches,
            num_processes=self.num_processes,
        )
        mark_prepared(wrapped)
        return _remember(self._schedulers, wrapped)

    def prepare_data_loader(
        self, data_loader: Any, device_placement: bool | None = None, slice_fn_for_dispatch: Any = None
    ) -> Any:
        """Return `data_loader` so that its batches are on the device and the loop knows where it is.

        Args:
            data_loader: A torch loader, of a subclass too.
            device_placement: Whether batches are moved; None takes the default.
            slice_fn_for_dispatch: How a dispatching loader cuts a batch; without effect in a run of one process.
        """
        if is_prepared(data_loader):
            return _remember(self._dataloaders, data_loader)
        config = self.dataloader_config
        loader = prepare_data_loader(
            data_loader,
            self.device,
            num_processes=self.num_processes,
            process_index=self.process_index,
            split_batches=config.split_batches,
            put_on_device=self.device_placement if device_placement is None else device_placement,
            rng_types=list(self.rng_types),
            dispatch_batches=config.dispatch_batches,
            even_batches=config.even_batches,
            slice_fn_for_dispatch=slice_fn_for_dispatch,
            use_seedable_sampler=config.use_seedable_sampler,
            data_seed=config.data_seed,
            non_blocking=config.non_blocking,
            use_stateful_dataloader=config.use_stateful_dataloader,
        )
        mark_prepared(loader)
        return _remember(self._dataloaders, loader)

    def skip_first_batches(self, dataloader: Any, num_batches: int = 0) -> Any:
        """Return a loader that gives what `dataloader` gives after its first `num_batches` batches."""
        return skip_first_batches(dataloader, num_batches=num_batches)

    def verify_device_map(self, model: torch.nn.Module) -> bool:
        """Say whether a device map has put parts of `model` on several devices."""
        return is_spread(model)

    # ------------------------------------------------------------------------------------------------------- the loop

    @contextmanager
    def accumulate(self, *models: torch.nn.Module) -> Iterator[None]:
        """Count the batch in this block into its accumulation window.

        Inside, `backward` scales the loss, and prepared optimizers step only when the batch ends its window.

        Args:
            models: The models whose gradients need not be exchanged inside a window.
        """
        next_batch(self.gradient_state)
        exchange = self.sync_gradients or self.gradient_state.plugin_kwargs.get("sync_each_batch", False)
        with ExitStack() as stack:
            for model in () if exchange else models:
                stack.enter_context(self.no_sync(model))
            yield

    def no_sync(self, model: torch.nn.Module) -> AbstractContextManager[Any]:
        """Return a context in which gradients of `model` are not exchanged between processes."""
        return self.runtime.strategy.no_sync(model)

    @contextmanager
    def trigger_sync_in_backward(self, model: torch.nn.Module) -> Iterator[None]:
        """Exchange gradients in the next backward pass even though the forward pass ran inside `no_sync`."""
        del model
        yield

    @contextmanager
    def join_uneven_inputs(self, joinables: Iterable[Any], even_batches: bool | None = None) -> Iterator[None]:
        """Let processes have different numbers of batches inside the block; one process always can."""
        del joinables, even_batches
        yield

    def autocast(self, autocast_handler: AutocastKwargs | None = None) -> AbstractContextManager[Any]:
        """Return a context in which the block computes in the run's precision.

        Args:
            autocast_handler: Options for this block; None takes those of the `Accelerator`.
        """
        return self._precision.forward(autocast_handler)

    def backward(self, loss: torch.Tensor, **kwargs: Any) -> None:
        """Compute gradients of `loss`, the mean over one batch, so that they become the mean over the window.

        Args:
            loss: A scalar tensor.
            kwargs: Keywords of `torch.Tensor.backward`.
        """
        divisor = loss_divisor(self.gradient_state, self._optimized_parameters)
        self._precision.scale(loss / divisor).backward(**kwargs)

    def _optimized_parameters(self) -> Iterator[torch.Tensor]:
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                yield from group["params"]

    def unscale_gradients(
        self, optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None
    ) -> None:
        """Take the gradient scaler's factor off the gradients, in place; once per step, and only under fp16.

        Args:
            optimizer: Whose gradients; None means all prepared optimizers.
        """
        if self.scaler is None:
            return
        chosen = self._optimizers if optimizer is None else optimizer
        for one in chosen if isinstance(chosen, Sequence) else [chosen]:
            unscale_once(self.scaler, one.optimizer if isinstance(one, AcceleratedOptimizer) else one)

    def clip_grad_norm_(
        self, parameters: torch.Tensor | Iterable[torch.Tensor], max_norm: float, norm_type: float = 2
    ) -> torch.Tensor:
        """Scale gradients down in place so that their total norm is at most `max_norm`. Collective: all ranks.

        Returns the norm before, a 0-d tensor. Under fp16, gradients inside a window are still scaled up and are left
        alone: clip at its end.
        """
        listed = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        if self.scaler is not None and not self.sync_gradients:
            gradients = [parameter.grad for parameter in listed if parameter.grad is not None]
            return torch.nn.utils.get_total_norm(gradients, norm_type) / self.scaler.get_scale()
        self.unscale_gradients()
        return self.runtime.strategy.clip_norm(listed, max_norm, norm_type)

    def clip_grad_value_(self, parameters: torch.Tensor | Iterable[torch.Tensor], clip_value: float) -> None:
        """Cut every element of the gradients to at most `clip_value` in size, in place; see `clip_grad_norm_`."""
        if self.scaler is not None and not self.sync_gradients:
            return
        self.unscale_gradients()
        torch.nn.utils.clip_grad_value_(parameters, clip_value)

    # ----------------------------------------------------------------------------------------------- across processes

    def gather(self, tensor: Nested) -> Nested:
        """Return the structure with the tensors of all ranks joined, in rank order. Collective: all ranks."""
        return self.runtime.collectives.gather(tensor)

    def gather_for_metrics(self, input_data: Any, use_gather_object: bool = False) -> Any:
        """Return what all ranks give, without what goes beyond the samples of the last batch.

        Collective: all ranks. Samples are repeated to give every rank a full last batch; and programs repeat a loss as
        often as a full batch has samples. On the last batch of the active loader, each tensor (not those without
        dimensions) or list of objects is therefore cut to the number of samples that the batch really has.

        Args:
            input_data: A nested structure of tensors, or other objects.
            use_gather_object: Whether tensors too are gathered as objects.
        """
        collectives, as_tensors = self.runtime.collectives, holds_only_tensors(input_data) and not use_gather_object
        gathered = collectives.gather(input_data) if as_tensors else collectives.gather_object(input_data)
        samples = self.gradient_state.remainder if self.gradient_state.end_of_dataloader else 0
        return first_samples(gathered, samples) if samples > 0 else gathered

    def reduce(self, tensor: Nested, reduction: Any = "sum", scale: float = 1.0) -> Nested:
        """Return a new structure with the sum or mean over all ranks, times `scale`. Collective: all ranks."""
        return self.runtime.collectives.reduce(tensor, reduction, scale)

    def pad_across_processes(self, tensor: Nested, dim: int = 0, pad_index: int = 0, pad_first: bool = False) -> Nested:
        """Return the structure with each tensor filled up to the longest of all ranks. Collective: all ranks."""
        return self.runtime.collectives.pad_across_processes(tensor, dim, pad_index, pad_first)

    def set_trigger(self) -> None:
        """Raise a flag on this process, that `check_trigger` sees on all."""
        self._trigger = True

    def check_trigger(self) -> bool:
        """Say whether any process has raised its flag since the last call, and lower it. Collective: all ranks."""
        raised = any(self.runtime.collectives.gather_object([self._trigger]))
        if raised:
            self._trigger = False
        return raised

    # --------------------------------------------------------------------------------------------- models and memory

    def unwrap_model(
        self, model: torch.nn.Module, keep_fp32_wrapper: bool = True, keep_torch_compile: bool = True
    ) -> torch.nn.Module:
        """Return the user's model from inside what `prepare` has put around it.

        Args:
            model: A prepared model.
            keep_fp32_wrapper: False gives its forward pass back its own precision, in place.
            keep_torch_compile: False returns the model behind a compiled one.
        """
        return extract_model_from_parallel(model, keep_fp32_wrapper, keep_torch_compile)

    def get_state_dict(self, model: torch.nn.Module, unwrap: bool = True) -> dict[str, Any]:
        """Return the whole state of `model`. Collective: all ranks.

        Args:
            model: A prepared model.
            unwrap: Whether names are those of the user's model.
        """
        return self.runtime.strategy.state_dict(self.unwrap_model(model, keep_torch_compile=False) if unwrap else model)

    def free_memory(self, *objects: Any) -> list[None]:
        """Let go of everything that was prepared, free the device's cache, and return one None for each object."""
        for prepared in (self._models, self._optimizers, self._schedulers, self._dataloaders):
            prepared.clear()
        self.step = 0
        return memory.release_memory(*objects)

    clear = free_memory

    @contextmanager
    def profile(self, profile_handler: ProfileKwargs | None = None) -> Iterator[torch.profiler.profile]:
        """Record what torch does inside the block.

        Args:
            profile_handler: What to record and where a trace is written; None takes that of the `Accelerator`.
        """
        handler = profile_handler or self.profile_handler or ProfileKwargs()
        with handler.build() as profiler:
            yield profiler
        if handler.output_trace_dir is not None:
            folder = Path(handler.output_trace_dir)
            folder.mkdir(parents=True, exist_ok=True)
            profiler.export_chrome_trace(str(folder / PROFILE_PATTERN_NAME.format(suffix=self.process_index)))
        self.wait_for_everyone()

    # ---------------------------------------------------------------------------------------------------- checkpoints

    def register_for_checkpointing(self, *objects: Any) -> None:
        """Let `save_state` and `load_state` care for `objects`, which have `state_dict` and `load_state_dict`.

        Raises:
            ConfigError: One of them lacks these methods.
        """
        checkpoint_state.check_registrable(objects)
        self._custom_objects.extend(objects)

    def register_save_state_pre_hook(self, hook: Callable[[list[Any], list[Any], str], None]) -> RemovableHandle:
        """Call `hook(models, weights, folder)` before each save; what it takes out of `weights` is not written."""
        return _add_hook(self._save_hooks, hook)

    def register_load_state_pre_hook(self, hook: Callable[[list[Any], str], None]) -> RemovableHandle:
        """Call `hook(models, folder)` before each load; what it takes out of `models` is not loaded."""
        return _add_hook(self._load_hooks, hook)

    def save_state(
        self,
        output_dir: str | PathLike[str] | None = None,
        safe_serialization: bool = True,
        **save_model_func_kwargs: Any,
    ) -> Path:
        """Write all that the run needs to go on to a folder, whole or not at all, and return it. Collective: all ranks.

        Args:
            output_dir: The folder; None only with automatic naming.
            safe_serialization: Whether weights are written as safetensors.
            save_model_func_kwargs: Accepted for old scripts; concerns models shared among processes.
        """
        del save_model_func_kwargs
        folder = checkpoint_state.target(self.project_configuration, output_dir)
        states = [self.get_state_dict(model) for model in self._models]
        for hook in self._save_hooks.values():
            hook(self._models, states, str(folder))
        writer = self._writer()
        checkpoint_state.save(folder, self._contents(states), safe=safe_serialization, writer=writer)
        checkpoint_state.saved(self.project_configuration, folder, writer)
        return folder

    def load_state(
        self,
        input_dir: str | PathLike[str] | None = None,
        load_kwargs: dict[str, Any] | None = None,
        **load_model_func_kwargs: Any,
    ) -> None:
        """Bring everything prepared and registered back to a checkpoint, in place. Collective: all ranks.

        Args:
            input_dir: The checkpoint; None takes the newest automatically named one.
            load_kwargs: Keywords of `torch.load`.
            load_model_func_kwargs: Keywords of the models' `load_state_dict`, such as `strict`.
        """
        folder = checkpoint_state.source(self.project_configuration, input_dir)
        models = [self.unwrap_model(model, keep_torch_compile=False) for model in self._models]
        for hook in self._load_hooks.values():
            hook(models, str(folder))
        self.step = checkpoint_state.load(
            folder,
            self._contents(models),
            writer=self._writer(),
            options=load_kwargs,
            model_options=load_model_func_kwargs,
        )
        checkpoint_state.loaded(self.project_configuration, folder)

    def _contents(self, models: list[Any]) -> Contents:
        return Contents(
            models=models,
            optimizers=self._optimizers,
            schedulers=self._schedulers,
            dataloaders=self._dataloaders,
            scaler=self.scaler,
            custom=self._custom_objects,
            devices=registry.present(),
            step=self.step,
        )

    def _writer(self) -> Writer:
        collectives = self.runtime.collectives
        on_each_node = self.project_configuration.save_on_each_node
        return Writer(
            rank=self.process_index,
            shared=self.is_local_main_process if on_each_node else self.is_main_process,
            agree=lambda went_well: all(collectives.gather_object([went_well])),
        )

    def save_model(
        self,
        model: torch.nn.Module,
        save_directory: str | PathLike[str],
        max_shard_size: int | str = "10GB",
        safe_serialization: bool = True,
    ) -> None:
        """Write the weights of `model` to a folder, in shards where they are large. Collective: all ranks.

        Args:
            model: A prepared model.
            save_directory: Made when it does not exist.
            max_shard_size: Bytes of a shard, as a number or like "200MB".
            safe_serialization: Whether weights are written as safetensors.
        """
        weights.save_model(
            self.get_state_dict(model),
            Path(save_directory),
            max_shard_size=max_shard_size,
            safe_serialization=safe_serialization,
            writer=self._writer(),
        )

    def save(self, obj: Any, f: str | PathLike[str], safe_serialization: bool = False) -> None:
        """Write `obj` to the file `f`, on the main process only; on each machine's with `save_on_each_node`."""
        saving.save(obj, f, self.project_configuration.save_on_each_node, safe_serialization)

    # ------------------------------------------------------------------------------------------------------- tracking

    def init_trackers(
        self, project_name: str, config: dict[str, Any] | None = None, init_kwargs: dict[str, Any] | None = None
    ) -> None:
        """Start the trackers that `log_with` names, on the main process.

        Args:
            project_name: The name of the project or experiment.
            config: Values that are logged once, as hyperparameters.
            init_kwargs: Tracker name -> its own options.
        """
        trackers.finish(self.trackers)
        self.trackers = trackers.start(
            self.log_with,
            project_name,
            config,
            init_kwargs,
            logging_dir=self.logging_dir,
            main=self.is_main_process,
        )

    def log(self, values: dict[str, Any], step: int | None = None, log_kwargs: dict[str, Any] | None = None) -> None:
        """Log values with every tracker, on the main process.

        Args:
            values: Name -> value.
            step: Number of the step they belong to.
            log_kwargs: Tracker name -> its own options.
        """
        trackers.log(self.trackers, values, step, log_kwargs)

    def get_tracker(self, name: str, unwrap: bool = False) -> Any:
        """Return a started tracker by name; on other processes one that does nothing.

        Args:
            name: As in `log_with`.
            unwrap: Whether the library's own object is returned.
        """
        return trackers.get(self.trackers, name, unwrap)

    def end_training(self) -> None:
        """Finish all trackers. Collective: all ranks."""
        trackers.finish(self.trackers)
        self.trackers = []
        self.wait_for_everyone()


def _accumulation(
    steps: int, plugin: GradientAccumulationPlugin | None, settings: Settings
) -> GradientAccumulationPlugin:
    if plugin is not None:
        if steps != 1:
            raise ConfigError(
                f"gradient_accumulation_steps is {steps}, and gradient_accumulation_plugin is given too.",
                fix="Give one of them.",
            )
        return plugin
    asked_by_launcher = settings.training.gradient_accumulation_steps
    return GradientAccumulationPlugin(num_steps=asked_by_launcher if asked_by_launcher > 1 else steps)


def _remember(known: list[Any], obj: Any) -> Any:
    if not any(other is obj for other in known):
        known.append(obj)
    return obj


def _add_hook(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
