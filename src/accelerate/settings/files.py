"""Configuration files: where they are, reading one with errors that help, writing one in one step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate.errors import ConfigError
from accelerate.settings import legacy
from accelerate.settings.knob import Knob, Value
from accelerate.settings.sections import Settings, knobs, value_of


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a configuration file says.

    Args:
        path: The file.
        values: Knob name -> value as the file gives it, not checked yet; only knobs that the file sets.
    """

    path: Path
    values: Mapping[str, object]

    def where(self, name: str) -> str:
        """How to speak of the knob `name` in this file: its key and the path."""
        key = next(one.key for one in knobs() if one.name == name)
        return f"{key} in {self.path}"


def default_path(env: Mapping[str, str]) -> Path:
    """The file that is used when none is named. It need not exist."""
    return cache_folder(env) / "accelerate" / "default_config.yaml"


def cache_folder(env: Mapping[str, str]) -> Path:
    """The folder of Hugging Face libraries, as the variables HF_HOME and XDG_CACHE_HOME say."""
    if env.get("HF_HOME"):
        return Path(env["HF_HOME"]).expanduser()
    cache = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface"


def find(env: Mapping[str, str]) -> Path | None:
    """The default file (`.yaml`, else `.json`) if there is one; None also where nobody may look for it."""
    path = default_path(env)
    for candidate in (path, path.with_suffix(".json")):
        try:
            if candidate.is_file():
                return candidate
        except OSError:
            return None
    return None


def load(path: Path) -> ConfigFile:
    """Read a YAML or JSON file.

    Raises:
        ConfigError: The file cannot be read or parsed, is not a mapping, or has an unknown key.
        LaunchError: It asks for an engine that is not driven here.
    """
    raw = _parse(path, _read(path))
    if raw is not None and not isinstance(raw, dict):
        raise ConfigError(f"The configuration file {path} holds {_noun(raw)}.", "It must hold lines `key: value`.")
    texts = {str(key): value for key, value in (raw or {}).items()}
    flat = _flatten(legacy.modernise(texts, str(path)), path)
    by_key = {one.key: one for one in knobs() if one.key}
    for key in flat:
        if key not in by_key:
            raise _unknown(key, by_key, path)
    return ConfigFile(path, {by_key[key].name: value for key, value in flat.items() if value is not None})


def check(file: ConfigFile) -> dict[str, Value]:
    """Every value of the file as the type of its knob, by knob name.

    Raises:
        ConfigError: One has the wrong type or is not allowed.
    """
    by_name = {one.name: one for one in knobs()}
    return {name: by_name[name].parse(value, file.where(name)) for name, value in file.values.items()}


def save(settings: Settings, path: Path) -> None:
    """Write settings as a file that other implementations of the API read too; `.json` writes JSON.

    The file is replaced in one step. Folders are made as needed.

    Raises:
        ConfigError: The folder or file cannot be written.
    """
    content = as_keys(settings)
    text = json.dumps(content, indent=2, sort_keys=True) + "\n" if path.suffix == ".json" else _dump(content)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def as_keys(settings: Settings) -> dict[str, Any]:
    """The content of a configuration file: key -> value, nested where keys have parts."""
    content: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE"}
    compiles = settings.compile.backend != "no"
    for one in knobs():
        value = value_of(settings, one.name)
        idle = (one.own and value == one.default) or (one.name.startswith("compile.") and not compiles)
        if not one.key or value is None or idle:
            continue
        *parents, last = one.key.split(".")
        place = content
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = one.text(value) if one.capitals else value
    return content


def closest(word: str, allowed: Iterable[str]) -> str:
    """The hint `Did you mean X?` for a mistyped word, or nothing when no allowed word is near."""
    import difflib  # only for people who mistype

    near = difflib.get_close_matches(word, list(allowed), n=1)
    return f"Did you mean {near[0]}?" if near else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"There is no configuration file {path}.", fix="Make one with: accelerate config") from None
    except IsADirectoryError:
        raise ConfigError(f"The configuration file {path} is a folder.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"The configuration file {path} cannot be read: {reason}.") from None


def _parse(path: Path, text: str) -> object:
    import yaml  # costs more than the rest of a launch, and most launches have no file

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise ConfigError(f"The configuration file {path} is not YAML: {error.problem}{line}.") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"The configuration file {path} is not YAML: {reason}.") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not JSON: {error.msg} (line {error.lineno}).") from None


def _dump(content: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(content), sort_keys=True, default_flow_style=False, allow_unicode=True)


def _flatten(values: Mapping[str, object], path: Path) -> dict[str, object]:
    """Join nested keys with dots, for those keys that knobs nest."""
    groups = {one.key.split(".")[0] for one in knobs() if "." in one.key}
    flat: dict[str, object] = {}
    for key, value in values.items():
        if key not in groups:
            flat[key] = value
        elif isinstance(value, Mapping):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            raise ConfigError(f"{key} in {path} is {value!r}.", "It must hold indented lines `key: value`.")
    return flat


def _unknown(key: str, by_key: Mapping[str, Knob], path: Path) -> ConfigError:
    return ConfigError(f"The configuration file {path} has the unknown key {key!r}.", closest(key, by_key))


def _noun(value: object) -> str:
    return "a list" if isinstance(value, list) else f"the single value {value!r}"


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"The configuration file {path} cannot be written: {error.strerror or error}.",
        fix="Name another place with --config_file, or set HF_HOME to a folder that can be written.",
    )
