"""Saving and loading all that a run needs to go on: `save(folder, contents)` and `load(folder, contents)`.

What `Accelerator` does with it (`config` is its ProjectConfiguration):

    def save_state(output_dir, safe_serialization):
        folder = state.target(config, output_dir)
        state.save(folder, contents, safe=safe_serialization, writer=writer)
        state.saved(config, folder, writer)          # counts on, and deletes what total_limit asks for
        return str(folder)

    def load_state(input_dir, load_kwargs, **model_kwargs):
        folder = state.source(config, input_dir)
        step = state.load(folder, contents, writer=writer, options=load_kwargs, model_options=model_kwargs)
        state.loaded(config, folder)                 # the next save takes the number after this one
        accelerator.step = step

    def register_for_checkpointing(*objects):
        state.check_registrable(objects)

    contents = Contents(models=[unwrapped ...], optimizers=..., schedulers=..., dataloaders=..., scaler=...,
                        custom=..., devices=devices.registry.present(), step=accelerator.step)
    writer = Writer(rank=process_index, shared=is_main_process or (save_on_each_node and is_local_main_process),
                    agree=lambda ok: all(collectives.gather_object([ok])))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from accelerate.checkpoint import files, layout, retention, rng, weights
from accelerate.checkpoint.commit import ALONE, Writer, finish, staged
from accelerate.devices.base import DeviceBackend
from accelerate.errors import CheckpointError, ConfigError
from accelerate.log import topic
from accelerate.plugins.project import ProjectConfiguration


class Stateful(Protocol):
    """What can be stored: optimizers, schedulers, scalers, the script's own objects."""

    def state_dict(self) -> Any:
        """Return the state as plain values, tensors and numpy arrays."""

    def load_state_dict(self, state: Any, /) -> Any:
        """Take the state back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What goes into a checkpoint and comes back from it, each kind in the order in which it was prepared.

    Args:
        models: Models; for `save`, their states will do.
        optimizers: Optimizers.
        schedulers: Learning rate schedulers.
        dataloaders: Loaders; those without `state_dict` have no position to store.
        scaler: Gradient scaler of mixed precision.
        custom: Objects that the script registered.
        devices: Device kinds of this machine, for their random generators.
        step: Counter of accumulation steps.
    """

    models: Sequence[nn.Module | Mapping[str, Any]] = ()
    optimizers: Sequence[Stateful] = ()
    schedulers: Sequence[Stateful] = ()
    dataloaders: Sequence[object] = ()
    scaler: Stateful | None = None
    custom: Sequence[Stateful] = ()
    devices: Sequence[DeviceBackend] = ()
    step: int = 0


def save(folder: Path, contents: Contents, *, safe: bool = True, writer: Writer = ALONE) -> Path:
    """Write a checkpoint to `folder`, whole or not at all, in place of one that is there, and return `folder`.

    Files in it that have no checkpoint's name stay. Collective: all ranks.

    Args:
        folder: Made when it does not exist.
        contents: What to write.
        safe: Write weights as safetensors; otherwise in torch's pickled format.
        writer: This process's part.

    Raises:
        CheckpointError: The folder cannot be written, or something cannot be stored. What was there is unchanged.
    """
    with staged(folder, replaces=layout.is_ours, writer=writer) as staging:
        if writer.shared:
            _save_shared(staging, contents, safe)
        states = {"step": contents.step, **rng.capture(contents.devices)}
        files.write(staging / layout.random_states(writer.rank), states)
    return folder


def load(
    folder: Path,
    contents: Contents,
    *,
    writer: Writer = ALONE,
    options: Mapping[str, Any] | None = None,
    model_options: Mapping[str, Any] | None = None,
) -> int:
    """Bring `contents` back, in place, to what `folder` holds, and return the step.

    Kinds of which nothing is prepared are passed over. Collective: all ranks.

    Args:
        folder: A checkpoint.
        contents: What to fill; its models must be modules.
        writer: This process's part: its rank, and whether it may complete a save that was cut off.
        options: Keywords for `torch.load`.
        model_options: Keywords for each model's `load_state_dict`, such as `strict`.

    Raises:
        CheckpointError: The folder or a file is missing or damaged, or does not fit what is prepared.
    """
    if not folder.is_dir():
        raise CheckpointError(
            f"There is no checkpoint {folder}.", "The folder does not exist.", "Give the path that save_state returned."
        )
    finish(folder, writer)
    _check_counts(folder, contents)
    for item, model in enumerate(contents.models):
        if isinstance(model, nn.Module):
            weights.load_into(model, weights.read(folder, item, options), folder, **(model_options or {}))
    _load_each(folder, layout.optimizer, contents.optimizers, options)
    _load_each(folder, layout.scheduler, contents.schedulers, options)
    for item, loader in enumerate(contents.dataloaders):
        _load_loader(folder, item, loader)
    _load_scaler(folder, contents.scaler, options)
    _load_each(folder, layout.custom, contents.custom, options)
    return _load_random_states(folder, contents, writer.rank)


def check_registrable(objects: Iterable[object]) -> None:
    """Raise a ConfigError when one of `objects` has no state to store."""
    unfit = [
        f"number {position} is {type(item).__name__}"
        for position, item in enumerate(objects)
        if not callable(getattr(item, "state_dict", None)) or not callable(getattr(item, "load_state_dict", None))
    ]
    if unfit:
        raise ConfigError(
            f"Cannot register for checkpointing: {', '.join(unfit)}.",
            "An object needs the methods state_dict and load_state_dict.",
            "Register objects that have both.",
        )


def target(config: ProjectConfiguration, output_dir: str | PathLike[str] | None) -> Path:
    """Return the folder for the next save: under automatic naming the next number, else `output_dir`.

    Raises:
        ConfigError: There is no place to save to, or the number is taken.
    """
    if not config.automatic_checkpoint_naming:
        if output_dir is None:
            raise ConfigError(
                "save_state() got no output_dir.",
                "It is needed unless checkpoints are named automatically.",
                "Pass a path, or ProjectConfiguration(project_dir=..., automatic_checkpoint_naming=True).",
            )
        return Path(output_dir)
    folder = retention.next_folder(_project(config), config.iteration)
    if output_dir is not None:
        topic("checkpoint").warning(
            "save_state(%r): automatic_checkpoint_naming is on, so the checkpoint goes to %s.", str(output_dir), folder
        )
    return folder


def saved(config: ProjectConfiguration, folder: Path, writer: Writer = ALONE) -> None:
    """Take note of a finished save: count on, and delete the oldest checkpoints over `total_limit`."""
    if config.automatic_checkpoint_naming:
        config.iteration += 1
        if writer.shared:
            retention.prune(_project(config), config.total_limit, keep=folder)


def source(config: ProjectConfiguration, input_dir: str | PathLike[str] | None) -> Path:
    """Return the folder to load: `input_dir`, or the newest automatically named checkpoint.

    Raises:
        ConfigError: Neither was given.
        CheckpointError: There is no checkpoint yet.
    """
    if input_dir is not None:
        return Path(input_dir)
    if not config.automatic_checkpoint_naming:
        raise ConfigError(
            "load_state() got no input_dir.",
            "It is needed unless checkpoints are named automatically.",
            "Pass the path of a checkpoint.",
        )
    return retention.newest(_project(config)).path


def loaded(config: ProjectConfiguration, folder: Path) -> None:
    """Let automatic numbering go on after the checkpoint `folder` that was loaded from this project."""
    number = layout.number_of(folder.name)
    if config.automatic_checkpoint_naming and number is not None:
        newest = [checkpoint.number for checkpoint in retention.existing(_project(config))]
        config.iteration = max([number, *newest]) + 1


def _project(config: ProjectConfiguration) -> Path:
    if config.project_dir is None:
        raise ConfigError(
            "automatic_checkpoint_naming is on, but there is no project_dir.",
            "Checkpoints go to <project_dir>/checkpoints.",
            "Pass Accelerator(project_dir=...) or ProjectConfiguration(project_dir=...).",
        )
    return Path(config.project_dir)


def _save_shared(staging: Path, contents: Contents, safe: bool) -> None:
    for item, model in enumerate(contents.models):
        weights.write(model, staging, item, safe=safe)
    for item, optimizer in enumerate(contents.optimizers):
        files.write(staging / layout.optimizer(item), optimizer.state_dict())
    for item, scheduler in enumerate(contents.schedulers):
        files.write(staging / layout.scheduler(item), scheduler.state_dict())
    for item, loader in enumerate(contents.dataloaders):
        if (position := getattr(loader, "state_dict", None)) is not None:
            files.write(staging / _loader_file(loader)(item), position())
    if contents.scaler is not None and (scaler := contents.scaler.state_dict()):
        files.write(staging / layout.SCALER, scaler)
    for item, custom in enumerate(contents.custom):
        save_custom(custom, staging / layout.custom(item))


def save_custom(custom: Stateful, path: Path) -> None:
    """Write a registered object, and warn now, rather than at the resume, when it could not be loaded again."""
    files.write(path, custom.state_dict())
    try:
        files.read(path, {"mmap": True})
    except CheckpointError as error:
        topic("checkpoint").warning("The registered %s will not load again. %s", type(custom).__name__, error)


def _loader_file(loader: object) -> Callable[[int], str]:
    return layout.stateful_loader if getattr(loader, "use_stateful_dataloader", False) else layout.sampler


def _check_counts(folder: Path, contents: Contents) -> None:
    """Refuse a checkpoint that holds another number of things than are prepared."""
    names = [path.name for path in folder.iterdir()]
    kinds = (
        ("models", layout.count_models(names), len(contents.models), False),
        ("optimizers", layout.count(layout.optimizer, names), len(contents.optimizers), False),
        ("schedulers", layout.count(layout.scheduler, names), len(contents.schedulers), False),
        ("registered objects", layout.count(layout.custom, names), len(contents.custom), True),
    )
    if not any(found for _, found, _, _ in kinds) and layout.random_states(0) not in names:
        raise CheckpointError(
            f"The folder {folder} holds no checkpoint.",
            "None of its files has the name of one.",
            "Give the path that save_state returned.",
        )
    for kind, found, prepared, exact in kinds:
        if found != prepared and (prepared or exact):
            raise CheckpointError(
                f"The checkpoint {folder} holds {found} {kind}, but {prepared} are prepared.",
                "They are told apart by their order alone.",
                "Prepare and register the same objects as when it was saved.",
            )
        if found and not prepared:
            topic("checkpoint").info("No %s are prepared: the %d in %s are not loaded.", kind, found, folder)


def _load_each(
    folder: Path, name_of: Callable[[int], str], objects: Sequence[Stateful], options: Mapping[str, Any] | None
) -> None:
    for item, stateful in enumerate(objects):
        path = folder / name_of(item)
        state = files.read(path, options)
        try:
            stateful.load_state_dict(state)
        except (ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
            raise CheckpointError(
                f"The state in {path} does not fit {type(stateful).__name__}: {str(error).splitlines()[0]}.",
                "It was saved by an object of another kind or size.",
                "Build it as when the checkpoint was saved.",
            ) from error


def _load_loader(folder: Path, item: int, loader: object) -> None:
    """Bring a loader to its position; a file that another program wrote in its own form is passed over."""
    take = getattr(loader, "load_state_dict", None)
    path = folder / _loader_file(loader)(item)
    if take is None or not path.is_file():
        return
    if names := files.unsafe_names(path):
        _warn_of_order(path, item, f"it holds {', '.join(names)}, which could run code")
        return
    position = files.read(path)
    try:
        take(position)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        _warn_of_order(path, item, f"its form is another one ({error!r})")


def _warn_of_order(path: Path, item: int, why: str) -> None:
    topic("checkpoint").warning("%s is not loaded, as %s: loader %d starts with a new order.", path, why, item)


def _load_scaler(folder: Path, scaler: Stateful | None, options: Mapping[str, Any] | None) -> None:
    if scaler is None:
        return
    path = folder / layout.SCALER
    if path.is_file():
        scaler.load_state_dict(files.read(path, options))
    else:
        topic("checkpoint").warning("%s has no %s: the gradient scaler starts anew.", folder, layout.SCALER)


def _load_random_states(folder: Path, contents: Contents, rank: int) -> int:
    path = folder / layout.random_states(rank)
    if path.is_file():
        states = _read_states(path)
        rng.restore(states, contents.devices)
    else:
        topic("checkpoint").warning(
            "%s has no %s: the random generators of process %d go on as they are.", folder, path.name, rank
        )
        # Saved by fewer processes: the counter is the same on all, the generators are not.
        first = folder / layout.random_states(0)
        states = _read_states(first) if first.is_file() else {}
    return int(states.get("step", 0))


def _read_states(path: Path) -> Mapping[str, Any]:
    states = files.read(path)
    if not isinstance(states, Mapping):
        raise CheckpointError(
            f"The file {path} holds a {type(states).__name__}.",
            "Random states are a dict.",
            "Load another checkpoint.",
        )
    return states
