"""The constants agree with the names that checkpoints are written under."""

from __future__ import annotations

import pytest

from accelerate import constants
from accelerate.checkpoint import layout


@pytest.mark.parametrize(
    ("constant", "written"),
    [
        (constants.WEIGHTS_NAME, layout.weights(safe=False)),
        (constants.WEIGHTS_PATTERN_NAME, layout.weights_pattern(safe=False)),
        (constants.WEIGHTS_INDEX_NAME, layout.weights_index(safe=False)),
        (constants.SAFE_WEIGHTS_NAME, layout.weights()),
        (constants.SAFE_WEIGHTS_PATTERN_NAME, layout.weights_pattern()),
        (constants.SAFE_WEIGHTS_INDEX_NAME, layout.weights_index()),
        (f"{constants.OPTIMIZER_NAME}.bin", layout.optimizer()),
        (f"{constants.SCHEDULER_NAME}_1.bin", layout.scheduler(1)),
        (f"{constants.SAMPLER_NAME}.bin", layout.sampler()),
        (constants.SCALER_NAME, layout.SCALER),
        (f"{constants.RNG_STATE_NAME}_0.pkl", layout.random_states()),
    ],
)
def test_names(constant: str, written: str) -> None:
    assert constant == written
