from __future__ import annotations

import pytest
import torch

from accelerate.devices.base import Traits
from accelerate.errors import ConfigError, DeviceError
from accelerate.plugins.handlers import AutocastKwargs, GradScalerKwargs
from accelerate.precision.choose import choose

BOTH = frozenset({torch.float16, torch.bfloat16})
# A CPU with a scaler: what a GPU can do, where there is none.
GPU = Traits(kind="cpu", collective="nccl", autocast_dtypes=BOTH, scaler=True)
CPU = Traits(kind="cpu", collective="gloo", autocast_dtypes=frozenset({torch.bfloat16}))


@pytest.mark.parametrize(("mode", "scaled"), [("no", False), ("bf16", False), ("fp16", True)])
def test_only_fp16_has_a_scaler(mode: str, scaled: bool) -> None:
    precision = choose(mode, GPU)
    assert precision.mode == mode
    assert (precision.scaler is not None) is scaled


def test_the_scaler_takes_its_options() -> None:
    scaler = choose("fp16", GPU, scaler=GradScalerKwargs(init_scale=8.0, growth_interval=3)).scaler
    assert scaler is not None
    assert scaler.get_scale() == 8.0
    assert scaler.get_growth_interval() == 3


@pytest.mark.parametrize(
    ("mode", "traits", "error", "message"),
    [
        ("fp16", CPU, DeviceError, r"'fp16' \(from here\), but cpu has no fp16 autocast\. Use bf16 or no\."),
        ("fp8", GPU, DeviceError, r"'fp8' \(from here\).*Use bf16\."),
        ("int3", GPU, ConfigError, r"'int3' \(from here\)\. Allowed are no, fp16, bf16\."),
        (
            "fp16",
            Traits(kind="mps", collective="staged", autocast_dtypes=BOTH),
            DeviceError,
            r"gradient scaler of torch .* does not work on mps\. Use bf16, or torch 2\.8",
        ),
    ],
)
def test_what_the_device_lacks_is_refused_with_what_to_use(
    mode: str, traits: Traits, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        choose(mode, traits, came_from="here")


def test_autocast_computes_in_the_format_and_can_be_switched_off() -> None:
    precision = choose("bf16", CPU)
    a = torch.ones(2, 2)
    with precision.forward():
        assert (a @ a).dtype == torch.bfloat16
    with precision.forward(AutocastKwargs(enabled=False)):
        assert (a @ a).dtype == torch.float32


def test_full_precision_leaves_everything_alone() -> None:
    def forward() -> None: ...

    precision = choose("no", CPU)
    assert precision.wrap_forward(forward) is forward
    with precision.forward(AutocastKwargs()):
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == torch.float32
    loss = torch.ones(())
    assert precision.scale(loss) is loss
