"""Every file and folder name of a checkpoint. Names only: nothing here looks at a disk.

The names are those of the Accelerate API, so that other programs find what they expect:

    checkpoints/checkpoint_3/
        model.safetensors  model_1.safetensors      or pytorch_model.bin  pytorch_model_1.bin
        optimizer.bin      optimizer_1.bin
        scheduler.bin      scheduler_1.bin
        sampler.bin        sampler_1.bin            position and epoch of the loaders
        dl_state_dict.bin  dl_state_dict_1.bin      the same, for stateful loaders
        scaler.pt
        random_states_0.pkl                         one per process; also holds the step
        custom_checkpoint_0.pkl                     one per registered object

Weights in several files are `model-00001-of-00002.safetensors` ... with `model.safetensors.index.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

SCALER = "scaler.pt"
CHECKPOINTS = "checkpoints"

_WEIGHTS = re.compile(
    r"(?P<stem>model|pytorch_model)(?P<item>_\d+)?(-\d{5,}-of-\d{5,})?(?P<format>\.safetensors|\.bin)(\.index\.json)?"
)
_OTHERS = re.compile(
    r"(optimizer|scheduler|sampler|dl_state_dict)(_\d+)?\.bin|scaler\.pt|(random_states|custom_checkpoint)_\d+\.pkl"
)
_NUMBERED = re.compile(r"checkpoint_(\d+)")


def weights_pattern(item: int = 0, *, safe: bool = True) -> str:
    """Return the name of model `item`'s weights with `{suffix}` where the shard's number goes."""
    stem, ending = ("model", ".safetensors") if safe else ("pytorch_model", ".bin")
    return f"{stem}{_mark(item)}{{suffix}}{ending}"


def weights(item: int = 0, *, safe: bool = True) -> str:
    """Return the name of model `item`'s weights in one file."""
    return weights_pattern(item, safe=safe).format(suffix="")


def weights_index(item: int = 0, *, safe: bool = True) -> str:
    """Return the name of the file that says which shard holds which tensor of model `item`."""
    return f"{weights(item, safe=safe)}.index.json"


def optimizer(item: int = 0) -> str:
    """Return the file name of optimizer `item`."""
    return f"optimizer{_mark(item)}.bin"


def scheduler(item: int = 0) -> str:
    """Return the file name of learning rate scheduler `item`."""
    return f"scheduler{_mark(item)}.bin"


def sampler(item: int = 0) -> str:
    """Return the file name of the position of loader `item`."""
    return f"sampler{_mark(item)}.bin"


def stateful_loader(item: int = 0) -> str:
    """Return the file name of the position of loader `item` when it is a stateful one."""
    return f"dl_state_dict{_mark(item)}.bin"


def random_states(rank: int = 0) -> str:
    """Return the file name of the random generators of the process `rank`."""
    return f"random_states_{rank}.pkl"


def custom(item: int = 0) -> str:
    """Return the file name of registered object `item`."""
    return f"custom_checkpoint_{item}.pkl"


def numbered(number: int) -> str:
    """Return the folder name of the automatically named checkpoint `number`."""
    return f"checkpoint_{number}"


def number_of(name: str) -> int | None:
    """Return the number in the folder name of an automatically named checkpoint; None for other names."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else None


def count(name_of: Callable[[int], str], names: Iterable[str]) -> int:
    """Return how many of the files `name_of(0)`, `name_of(1)`, ... are in `names`, up to the first gap."""
    present = set(names)
    number = 0
    while name_of(number) in present:
        number += 1
    return number


def count_models(names: Iterable[str]) -> int:
    """Return how many models have weights among `names`, in whatever form."""
    present = set(names)

    def there(item: int) -> bool:
        forms = (weights(item), weights_index(item), weights(item, safe=False), weights_index(item, safe=False))
        return not present.isdisjoint(forms)

    number = 0
    while there(number):
        number += 1
    return number


def is_ours(name: str) -> bool:
    """Say whether `name` is one that a checkpoint's file can have."""
    return bool(_WEIGHTS.fullmatch(name) or _OTHERS.fullmatch(name))


def is_export(name: str, *, safe: bool) -> bool:
    """Say whether `name` belongs to the weights that `save_model` writes in this format, whole or in shards."""
    found = _WEIGHTS.fullmatch(name)
    return bool(found and found["item"] is None and (found["format"] == ".safetensors") == safe)


def _mark(item: int) -> str:
    return f"_{item}" if item else ""
