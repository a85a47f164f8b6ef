"""The functions of `accelerate.checkpointing`, for programs that save and load without an `Accelerator`.

They know nothing of other processes: process 0 writes what belongs to all, each other process its own file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from accelerate.checkpoint import files, layout, rng, state
from accelerate.checkpoint.commit import Writer, write_file
from accelerate.checkpoint.state import Contents, Stateful
from accelerate.devices import registry


def save_accelerator_state(
    output_dir: str,
    model_states: Sequence[Mapping[str, Any]],
    optimizers: Sequence[Stateful],
    schedulers: Sequence[Stateful],
    dataloaders: Sequence[object],
    process_index: int,
    step: int,
    scaler: Stateful | None = None,
    save_on_each_node: bool = False,
    safe_serialization: bool = True,
) -> Path:
    """Write the states of models, optimizers, schedulers, loaders, scaler and random generators to `output_dir`.

    Args:
        output_dir: Made when it does not exist; replaced whole by process 0.
        model_states: State of each model.
        optimizers: Optimizers.
        schedulers: Learning rate schedulers.
        dataloaders: Loaders.
        process_index: Rank of this process.
        step: Counter of accumulation steps.
        scaler: Gradient scaler.
        save_on_each_node: Without effect here: the caller knows whether this process writes.
        safe_serialization: Write weights as safetensors.

    Returns:
        The folder.

    Raises:
        CheckpointError: Something cannot be written.
    """
    del save_on_each_node
    folder, devices = Path(output_dir), registry.present()
    if process_index:
        states = {"step": step, **rng.capture(devices)}
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / layout.random_states(process_index), lambda path: files.write(path, states))
        return folder
    contents = Contents(
        models=model_states,
        optimizers=optimizers,
        schedulers=schedulers,
        dataloaders=dataloaders,
        scaler=scaler,
        devices=devices,
        step=step,
    )
    return state.save(folder, contents, safe=safe_serialization)


def load_accelerator_state(
    input_dir: str,
    models: Sequence[nn.Module],
    optimizers: Sequence[Stateful],
    schedulers: Sequence[Stateful],
    dataloaders: Sequence[object],
    process_index: int,
    scaler: Stateful | None = None,
    map_location: Any = None,
    load_kwargs: Mapping[str, Any] | None = None,
    **load_model_func_kwargs: Any,
) -> dict[str, Any]:
    """Load what `save_accelerator_state` wrote, in place.

    Args:
        input_dir: The checkpoint.
        models: Models.
        optimizers: Optimizers.
        schedulers: Learning rate schedulers.
        dataloaders: Loaders.
        process_index: Rank of this process.
        scaler: Gradient scaler.
        map_location: Where tensors are read to first, as for `torch.load`. None and `"on_device"` mean the CPU:
            states move to the device of what they belong to in any case.
        load_kwargs: Keywords for `torch.load`.
        **load_model_func_kwargs: Keywords for each model's `load_state_dict`.

    Returns:
        `{"step": ...}`, the counter of accumulation steps.

    Raises:
        CheckpointError: Something is missing, damaged or does not fit.
    """
    contents = Contents(
        models=models,
        optimizers=optimizers,
        schedulers=schedulers,
        dataloaders=dataloaders,
        scaler=scaler,
        devices=registry.present(),
    )
    place = {} if map_location in (None, "on_device") else {"map_location": map_location}
    step = state.load(
        Path(input_dir),
        contents,
        writer=Writer(rank=process_index, shared=process_index == 0),
        options={**place, **(load_kwargs or {})},
        model_options=load_model_func_kwargs,
    )
    return {"step": step}


def save_custom_state(obj: Stateful, path: str, index: int = 0, save_on_each_node: bool = False) -> None:
    """Write the state of `obj` to `custom_checkpoint_<index>.pkl` in the folder `path`.

    `save_on_each_node` is without effect here: the caller knows whether this process writes.
    """
    del save_on_each_node
    write_file(Path(path) / layout.custom(index), lambda part: state.save_custom(obj, part))


def load_custom_state(obj: Stateful, path: str, index: int = 0) -> None:
    """Load the state of `obj` from `custom_checkpoint_<index>.pkl` in the folder `path`.

    Raises:
        CheckpointError: The file is missing, damaged or holds more than data.
    """
    obj.load_state_dict(files.read(Path(path) / layout.custom(index)))
