from __future__ import annotations

import pytest

from accelerate.settings import legacy
from accelerate.settings.sections import knobs


def test_tables_and_knobs_do_not_overlap() -> None:
    flags = {one.flag for one in knobs() if one.flag}
    keys = {one.key.split(".")[0] for one in knobs() if one.key}
    assert not flags & (set(legacy.ENGINE_FLAGS) | set(legacy.IDLE_FLAGS))
    assert not set(legacy.ENGINE_FLAGS) & set(legacy.IDLE_FLAGS)
    assert not keys & (set(legacy.ENGINE_KEYS) | legacy.IDLE_KEYS)


def test_every_engine_says_what_to_use_instead() -> None:
    for engine in {flag.engine for flag in legacy.ENGINE_FLAGS.values()} | set(legacy.ENGINE_KEYS.values()):
        assert len(engine.instead) > 20


@pytest.mark.parametrize(
    ("name", "value", "warns"),
    [
        ("fsdp_version", "1", False),
        ("fsdp_version", "2", True),
        ("fsdp_offload_params", "False", False),
        ("fsdp_offload_params", "true", True),
        ("fsdp_auto_wrap_policy", "SIZE_BASED_WRAP", True),
        ("fsdp_auto_wrap_policy", None, False),
        ("parallelism_config_tp_size", 1, False),
        ("parallelism_config_tp_size", 2, True),
        ("fp8_backend", "te", True),
        ("fp8_use_autocast_during_eval", True, True),
    ],
)
def test_idle_flags_warn_only_when_they_ask_for_something(name: str, value: object, warns: bool) -> None:
    lines = legacy.idle_warnings({name: value})
    assert len(lines) == int(warns)
    assert all(f"--{name}" in line for line in lines)


def test_the_input_is_not_changed() -> None:
    raw = {"use_mps_device": True, "dynamo_config": {"backend": "EAGER"}}
    legacy.modernise(raw, "f")
    assert raw == {"use_mps_device": True, "dynamo_config": {"backend": "EAGER"}}
