"""The weights of one model on disk: safetensors by default, in one file or in shards with an index.

Two names of one tensor (tied weights) are kept once. Tensors that merely lie in one storage, such as views of
different parts of a buffer, are all kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from accelerate.checkpoint import files, layout
from accelerate.checkpoint.commit import ALONE, Writer, staged, write_file
from accelerate.errors import CheckpointError, ConfigError
from accelerate.log import topic

State = Mapping[str, Any]

_COMPILED = "_orig_mod."
_WRAPPED = "module."
_SHOWN = 5


def state_of(model: nn.Module | State) -> dict[str, Any]:
    """Return a model's state without the marks that `torch.compile` leaves in the names; tensors are not copied."""
    state = model.state_dict() if isinstance(model, nn.Module) else model
    return {name.replace(_COMPILED, ""): value for name, value in state.items()}


def save_model(
    model: nn.Module | State,
    folder: Path,
    *,
    max_shard_size: int | str = "10GB",
    safe_serialization: bool = True,
    writer: Writer = ALONE,
) -> None:
    """Write the weights of one model to `folder`, in place of an earlier save there of the same format.

    Collective: all ranks; the process with `writer.shared` writes.

    Args:
        model: A model, or its whole state.
        folder: Made when it does not exist; files that are no weights stay.
        max_shard_size: Largest size of a file in bytes, or text such as `"5GB"`. A larger tensor gets its own file.
        safe_serialization: Write safetensors; otherwise torch's pickled format.
        writer: This process's part.

    Raises:
        CheckpointError: The folder cannot be written, or the state holds what the format cannot.
        ConfigError: `max_shard_size` is no size.
    """
    with staged(
        folder, replaces=lambda name: layout.is_export(name, safe=safe_serialization), writer=writer
    ) as staging:
        if writer.shared:
            _write_shards(state_of(model), staging, max_shard_size, safe_serialization)


def save(obj: Any, path: Path, *, safe: bool = False) -> None:
    """Write `obj` to the file `path`, whole or not at all.

    Args:
        obj: Anything that can be pickled; with `safe` a mapping of names to tensors.
        path: Replaced when it exists.
        safe: Write it as safetensors.

    Raises:
        CheckpointError: It cannot be stored, or the file cannot be written.
    """
    write_file(path, lambda part: _write_safe(_without_ties(obj), part) if safe else files.write(part, obj))


def write(model: nn.Module | State, folder: Path, item: int, *, safe: bool) -> None:
    """Write the weights of model number `item` as one file into `folder`."""
    state = state_of(model)
    path = folder / layout.weights(item, safe=safe)
    _write_file(_without_ties(state) if safe else state, path)


def read(folder: Path, item: int = 0, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the tensors of model number `item` in `folder`, on the CPU, from whatever form they are in.

    Args:
        folder: A checkpoint, or the folder of a `save_model`.
        item: Number of the model.
        options: Keywords for `torch.load`, for weights in torch's format.

    Raises:
        CheckpointError: A file is missing or damaged.
    """
    for safe in (True, False):
        whole = folder / layout.weights(item, safe=safe)
        if whole.is_file():
            return _read_file(whole, options)
        index = folder / layout.weights_index(item, safe=safe)
        if index.is_file():
            shards = _shards_of(index)
            return {name: value for shard in shards for name, value in _read_file(shard, options).items()}
    raise CheckpointError(
        f"There are no weights in {folder}.",
        f"Looked for {layout.weights(item)} and {layout.weights(item, safe=False)}, whole or in shards.",
        "Give the folder of a checkpoint, or load as many models as were saved.",
    )


def load_into(model: nn.Module, state: State, source: Path, *, strict: bool = True, **options: Any) -> None:
    """Set the parameters and buffers of `model`, in place, to `state`; tied ones stay tied.

    Args:
        model: The model, as built by the script.
        state: What `read` returned. Names of a compiled or wrapped model are recognised.
        source: Where it came from, for messages.
        strict: Refuse missing and unexpected names; otherwise warn of them.
        options: More keywords for `load_state_dict`.

    Raises:
        CheckpointError: Names or shapes differ.
    """
    target = model.state_dict()
    renamed = _with_ties(_named_as(target, state), target)
    missing = [name for name in target if name not in renamed]
    unexpected = [name for name in renamed if name not in target]
    try:
        model.load_state_dict(renamed, strict=strict, **options)
    except RuntimeError as error:
        names = (missing, unexpected) if strict else ([], [])
        different = _differences(*names, _reshaped(target, renamed)) or str(error).splitlines()[-1].strip()
        raise CheckpointError(
            f"The weights in {source} do not fit {type(model).__name__}: {different}.",
            "The checkpoint is of another model, or of another size of it.",
            "Build the model as when it was saved, or pass strict=False to skip names that differ.",
        ) from error
    if missing or unexpected:
        topic("checkpoint").warning(
            "Loaded %s into %s only in part: %s.", source, type(model).__name__, _differences(missing, unexpected, [])
        )


def _write_shards(state: dict[str, Any], folder: Path, max_shard_size: int | str, safe: bool) -> None:
    from huggingface_hub import split_state_dict_into_shards_factory  # takes longer to import than this module

    kept = _without_ties(state) if safe else state
    try:
        plan = split_state_dict_into_shards_factory(
            kept,
            get_storage_size=_size,
            get_storage_id=_identity,
            filename_pattern=layout.weights_pattern(safe=safe),
            max_shard_size=max_shard_size,
        )
    except ValueError as error:
        raise ConfigError(
            f"max_shard_size is {max_shard_size!r}.",
            "It is a number of bytes, or text in KB, MB, GB or TB.",
            "Try '5GB'.",
        ) from error
    if not plan.is_sharded:
        _write_file(kept, folder / layout.weights(safe=safe))
        return
    for file_name, names in plan.filename_to_tensors.items():
        _write_file({name: kept[name] for name in names}, folder / file_name)
    index = {"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}
    (folder / layout.weights_index(safe=safe)).write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def _write_file(state: State, path: Path) -> None:
    if path.suffix == ".bin":
        files.write(path, dict(state))
    else:
        _write_safe(state, path)


def _write_safe(state: State, path: Path) -> None:
    strangers = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if strangers:
        raise CheckpointError(
            f"The state of the model holds {_listed(strangers)}, which is no tensor.",
            "safetensors holds nothing else.",
            "Save with safe_serialization=False.",
        )
    absent = [name for name, value in state.items() if value.is_meta]
    if absent:
        raise CheckpointError(
            f"{_listed(absent)} of the model have no values: they are on the meta device.",
            "Only weights in memory can be saved.",
            "Load the weights first.",
        )
    try:
        save_file(_separate(state), path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise CheckpointError(f"Cannot write {path.name}: {error}.", fix="Check the free space.") from error


def _read_file(path: Path, options: Mapping[str, Any] | None) -> dict[str, Any]:
    if path.suffix == ".bin":
        state = files.read(path, options)
        if not isinstance(state, Mapping):
            raise CheckpointError(
                f"The file {path} holds a {type(state).__name__}.",
                "Weights are a dict of tensors.",
                "Load another one.",
            )
        return dict(state)
    if not path.is_file():
        raise CheckpointError(
            f"The file {path.name} is missing from {path.parent}.",
            "The weights are incomplete.",
            "Load another checkpoint.",
        )
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"The file {path} is damaged: {error}.",
            "It was cut off, changed, or is no safetensors file.",
            "Load another checkpoint.",
        ) from error


def _shards_of(index: Path) -> list[Path]:
    """Return the paths of the shards that an index names, all of them beside it."""
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"The file {index} is damaged: it is no index of weights.",
            "An index is JSON with a weight_map from names of tensors to names of files.",
            "Load another checkpoint.",
        ) from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise CheckpointError(
                f"The index {index} names the file {name!r}.",
                "Shards lie beside their index.",
                "Load another checkpoint.",
            )
    return [index.parent / name for name in sorted(names)]


def _identity(tensor: object) -> tuple[object, ...] | None:
    """Return what two names of one tensor have in common; None for what has no elements in memory."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_meta or tensor.numel() == 0 or tensor.layout != torch.strided:
        return None
    return (tensor.device, tensor.dtype, tensor.data_ptr(), tuple(tensor.shape), tensor.stride())


def _without_ties(state: State) -> dict[str, Any]:
    """Return the state with the first name of each tied tensor only."""
    kept: dict[str, Any] = {}
    seen: set[tuple[object, ...]] = set()
    for name, value in state.items():
        identity = _identity(value)
        if identity is None or identity not in seen:
            kept[name] = value
        if identity is not None:
            seen.add(identity)
    return kept


def _with_ties(state: dict[str, Any], target: State) -> dict[str, Any]:
    """Return the state with each missing name that the model ties to a present one filled in from that."""
    present = {identity: name for name in state if (identity := _identity(target.get(name))) is not None}
    tied = {
        name: state[present[identity]]
        for name, value in target.items()
        if name not in state and (identity := _identity(value)) in present
    }
    return {**state, **tied}


def _separate(state: State) -> dict[str, torch.Tensor]:
    """Return contiguous tensors none of which shares memory with another."""
    separate: dict[str, torch.Tensor] = {}
    storages: set[tuple[torch.device, int]] = set()
    for name, value in state.items():
        tensor: torch.Tensor = value.detach().contiguous()
        storage = (tensor.device, tensor.untyped_storage().data_ptr())
        separate[name] = tensor.clone() if storage in storages else tensor
        storages.add(storage)
    return separate


def _named_as(target: State, state: State) -> dict[str, Any]:
    """Return the state under the names of the target, whichever of the two is compiled or wrapped."""
    plain = {name.replace(_COMPILED, ""): name for name in target}

    def rename(name: str) -> str:
        short = name.replace(_COMPILED, "")
        return plain.get(short) or plain.get(short.removeprefix(_WRAPPED)) or name

    return {rename(name): value for name, value in state.items()}


def _reshaped(target: State, state: State) -> list[str]:
    pairs = ((name, target[name], value) for name, value in state.items() if name in target)
    return [
        f"{name} is {tuple(found.shape)} in the file and {tuple(wanted.shape)} in the model"
        for name, wanted, found in pairs
        if isinstance(found, torch.Tensor) and isinstance(wanted, torch.Tensor) and found.shape != wanted.shape
    ]


def _differences(missing: list[str], unexpected: list[str], reshaped: list[str]) -> str:
    parts = (
        f"missing {_listed(missing)}" if missing else "",
        f"unexpected {_listed(unexpected)}" if unexpected else "",
        _listed(reshaped),
    )
    return "; ".join(part for part in parts if part)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def _size(value: object) -> int:
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0
