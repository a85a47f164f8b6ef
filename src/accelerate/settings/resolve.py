"""One set of settings out of arguments, flags, file and environment, with the origin of each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accelerate.settings.files import ConfigFile
from accelerate.settings.knob import Knob, Value
from accelerate.settings.sections import Settings, build, knob_named, knobs
from accelerate.settings.sources import DEFAULT, Kind, Origin, Provenance


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of a run, and for every knob (by name) where its value came from."""

    settings: Settings
    provenance: Provenance


def resolve(
    *,
    flags: Mapping[str, object] | None = None,
    file: ConfigFile | None = None,
    env: Mapping[str, str] | None = None,
    kwargs: Mapping[str, object] | None = None,
) -> Resolved:
    """Decide each knob: argument > flag > file > environment variable > default.

    A switch that the file leaves off is no wish, since files list every switch: a variable may turn it on.

    Args:
        flags: Knob name (`section.field`) -> text or value, for flags that were given; None is skipped.
        file: A configuration file as read by `files.load`.
        env: The environment variables. Empty ones count as not set.
        kwargs: Knob name -> value, for arguments given in the script; None is skipped.

    Raises:
        ConfigError: A value has the wrong type or is not allowed; the error names where it came from.
        KeyError: `flags` or `kwargs` names no knob.
    """
    flags, env, kwargs = flags or {}, env or {}, kwargs or {}
    for name in (*flags, *kwargs):
        knob_named(name)
    values: dict[str, Value] = {}
    provenance: dict[str, Origin] = {}
    for one in knobs():
        value, origin = _decide(one, flags.get(one.name), file, env, kwargs.get(one.name))
        values[one.name] = value
        provenance[one.name] = origin
    return Resolved(build(values), provenance)


def _decide(
    one: Knob, flag: object, file: ConfigFile | None, env: Mapping[str, str], kwarg: object
) -> tuple[Value, Origin]:
    if kwarg is not None:
        field = one.name.split(".")[1]
        return one.parse(kwarg, field), Origin(Kind.KWARG, field)
    if flag is not None:
        return one.parse(flag, one.flags[0]), Origin(Kind.FLAG, one.flags[0])
    found: tuple[Value, Origin] = one.default, DEFAULT
    if file is not None and file.values.get(one.name) is not None:
        where = file.where(one.name)
        found = one.parse(file.values[one.name], where), Origin(Kind.FILE, str(file.path))
    undecided = found[1] is DEFAULT or (one.kind is bool and found[0] == one.default)
    text = env.get(one.env, "").strip() if one.env and undecided else ""
    if text:
        value = one.parse(text, f"The environment variable {one.env}")
        if found[1] is DEFAULT or value != one.default:
            return value, Origin(Kind.ENV, one.env)
    return found
