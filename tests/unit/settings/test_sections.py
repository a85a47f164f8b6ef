from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

import machines
from accelerate.machine.probe import probe
from accelerate.settings.sections import GROUPS, Settings, build, knob_named, knobs, value_of


def test_every_field_of_every_section_is_a_knob() -> None:
    fields = {
        f"{section.name}.{field.name}"
        for section in dataclasses.fields(Settings)
        for field in dataclasses.fields(getattr(Settings(), section.name))
    }
    assert [one.name for one in knobs()] == sorted(fields, key=[one.name for one in knobs()].index)
    assert {one.name for one in knobs()} == fields


@pytest.mark.parametrize("attribute", ["flag", "short", "key", "env", "name"])
def test_no_name_is_used_twice(attribute: str) -> None:
    names = Counter(getattr(one, attribute) for one in knobs() if getattr(one, attribute))
    assert [name for name, count in names.items() if count > 1] == []


def test_declarations_are_sound() -> None:
    for one in knobs():
        assert one.flag or one.key or one.env
        assert one.group in GROUPS
        assert one.help.endswith((".", ")")) or one.name == "processes.rdzv_conf"
        assert "\n" not in one.help
        assert value_of(Settings(), one.name) == one.default
        if one.default is not None:
            assert one.parse(one.text(one.default), one.name) == one.default


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().device.cpu = True  # pyrefly: ignore


def test_build_takes_defaults_for_the_rest() -> None:
    settings = build({"device.cpu": True, "processes.num_processes": 3})
    assert settings.device.cpu
    assert settings.processes.num_processes == 3
    assert settings.precision == Settings().precision


def test_unknown_name() -> None:
    with pytest.raises(KeyError):
        knob_named("device.gpu")


def asked(source: machines.Source, **answers: object) -> list[str]:
    machine = probe({}, source)
    given = {name.replace("__", "."): value for name, value in answers.items()}
    return [one.name for one in knobs() if one.question and one.question.when(given, machine)]  # pyrefly: ignore


def test_questions_fit_the_machine(tmp_path: Path) -> None:
    torch = machines.install_torch(tmp_path / "mac", library=machines.dylib(mps=True, macos=(14, 0)))
    on_mac = asked(machines.mac(torch=torch))
    assert on_mac == ["device.cpu", "device.mps_fallback", "precision.mixed_precision", "compile.backend"]
    assert "device.mps_fallback" not in asked(machines.mac(torch=torch), device__cpu=True)
    assert asked(machines.linux(tmp_path / "linux")) == ["precision.mixed_precision", "compile.backend"]
    assert "compile.mode" in asked(machines.mac(torch=torch), compile__backend="inductor")


def test_offers_fit_the_machine(tmp_path: Path) -> None:
    question = knob_named("precision.mixed_precision").question
    assert question is not None
    assert question.offer is not None
    torch = machines.install_torch(tmp_path / "mac", library=machines.dylib(mps=True, macos=(14, 0)))
    mac = probe({}, machines.mac(torch=torch))
    assert question.offer({}, mac) == ("no", "fp16", "bf16")
    assert question.offer({"device.cpu": True}, mac) == ("no", "bf16")
    assert question.offer({}, probe({}, machines.linux(tmp_path / "linux"))) == ("no", "bf16")
