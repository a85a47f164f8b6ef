from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerate.errors import ConfigError
from accelerate.settings.files import ConfigFile
from accelerate.settings.resolve import resolve
from accelerate.settings.sections import Settings, knobs, value_of
from accelerate.settings.sources import Kind

FILE = Path("/home/me/config.yaml")
PRECISIONS = st.sampled_from(["no", "fp16", "bf16", "fp8"])


def test_nothing_given_is_all_defaults() -> None:
    resolved = resolve()
    assert resolved.settings == Settings()
    assert {origin.kind for origin in resolved.provenance.values()} == {Kind.DEFAULT}
    assert set(resolved.provenance) == {one.name for one in knobs()}


@given(
    kwarg=st.none() | PRECISIONS,
    flag=st.none() | PRECISIONS,
    file=st.none() | PRECISIONS,
    env=st.none() | st.just("") | PRECISIONS,
)
def test_precedence(kwarg: str | None, flag: str | None, file: str | None, env: str | None) -> None:
    name = "precision.mixed_precision"
    resolved = resolve(
        kwargs={name: kwarg},
        flags={name: flag},
        file=ConfigFile(FILE, {name: file}),
        env={} if env is None else {"ACCELERATE_MIXED_PRECISION": env},
    )
    order = [
        (kwarg, Kind.KWARG, "mixed_precision"),
        (flag, Kind.FLAG, "--mixed_precision"),
        (file, Kind.FILE, str(FILE)),
        (env or None, Kind.ENV, "ACCELERATE_MIXED_PRECISION"),
        ("no", Kind.DEFAULT, ""),
    ]
    value, kind, detail = next(one for one in order if one[0] is not None)
    assert value_of(resolved.settings, name) == value
    assert (resolved.provenance[name].kind, resolved.provenance[name].detail) == (kind, detail)


@pytest.mark.parametrize(
    ("file", "env", "result", "kind"),
    [
        (False, "1", True, Kind.ENV),
        (False, "0", False, Kind.FILE),
        (True, "0", True, Kind.FILE),
        (None, "yes", True, Kind.ENV),
        (None, "no", False, Kind.ENV),
        (False, None, False, Kind.FILE),
    ],
)
def test_a_switch_that_a_file_leaves_off_is_no_wish(
    file: bool | None, env: str | None, result: bool, kind: Kind
) -> None:
    variables = {} if env is None else {"ACCELERATE_USE_CPU": env}
    resolved = resolve(file=ConfigFile(FILE, {"device.cpu": file}), env=variables)
    assert resolved.settings.device.cpu is result
    assert resolved.provenance["device.cpu"].kind is kind


@pytest.mark.parametrize("name", ["ACCELERATE_USE_CPU", "ACCELERATE_DEBUG_MODE", "ACCELERATE_DYNAMO_USE_DYNAMIC"])
def test_a_nonsense_variable_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"variable {name} is 'perhaps'"):
        resolve(env={name: "perhaps"})


def test_errors_name_flag_and_file() -> None:
    with pytest.raises(ConfigError, match=r"^--num_processes is 'x'"):
        resolve(flags={"processes.num_processes": "x"})
    with pytest.raises(ConfigError, match=f"^num_processes in {FILE} is 'x'"):
        resolve(file=ConfigFile(FILE, {"processes.num_processes": "x"}))


def test_a_stronger_source_hides_a_broken_weaker_one() -> None:
    resolved = resolve(flags={"precision.mixed_precision": "bf16"}, env={"ACCELERATE_MIXED_PRECISION": "?"})
    assert resolved.settings.precision.mixed_precision == "bf16"


@pytest.mark.parametrize("where", ["flags", "kwargs"])
def test_unknown_knobs_are_mistakes_of_the_caller(where: str) -> None:
    with pytest.raises(KeyError):
        resolve(**{where: {"device.gpu": True}})  # pyrefly: ignore
