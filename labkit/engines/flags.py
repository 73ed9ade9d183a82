"""From labkit's knobs to what an engine is told: flags, environment variables, a settings file.

Pure. It must not know any certain engine.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import ParamsError
from labkit.params import EngineParams

SECRET = re.compile(
    r"(^|[._-])(api_?)?(keys?|(?<!per_)token|passwords?|passwd|secrets?)($|[._-])", re.IGNORECASE
)
"""Names whose values no run folder may hold; `tokens` and `per_token` are no secrets."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag that the value follows."""

    name: str


@dataclass(frozen=True, slots=True)
class Switch:
    """What is said for true and for false; nothing where that is how the engine is anyway."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable; true is 1 and false is 0."""

    name: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A dotted place in the engine's settings file."""

    path: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The engine has no such knob; `nearest` says what it has, or why none is needed."""

    nearest: str


Knob = Flag | Switch | Variable | Setting | Absent


@dataclass(slots=True)
class Said:
    """What an engine is told."""

    flags: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def read_model(params: EngineParams, title: str) -> str:
    """Return the model's path or hub name, `~` expanded; raises ParamsError if none is set."""
    if params.model is None:
        raise ParamsError(
            f"expected engine.model for {title}, found none; set it to a folder or a hub name"
        )
    home = params.model.startswith("~")
    return str(Path(params.model).expanduser()) if home else params.model


def say_knobs(params: EngineParams, knobs: Mapping[str, Knob], title: str) -> Said:
    """Return how the knobs that are set are told; raises ParamsError for one that is absent."""
    said = Said()
    for name, knob in knobs.items():
        value = getattr(params, name)
        if value is None:
            continue
        match knob:
            case Absent(nearest):
                raise ParamsError(
                    f"expected no engine.{name} for {title}, found {value!r}: {nearest}; "
                    f"leave it out"
                )
            case Flag(flag):
                said.flags += [flag, str(value)]
            case Switch(on, off):
                said.flags += on if value else off
            case Variable(variable):
                said.env[variable] = str(int(value)) if isinstance(value, bool) else str(value)
            case Setting(path):
                put(said.settings, path, value)
    return said


def put(settings: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a dotted place."""
    *parts, last = path.split(".")
    for part in parts:
        settings = settings.setdefault(part, {})
    settings[last] = value


def say_extra_args(
    params: EngineParams,
    *,
    taken: Mapping[str, str | None],
    renamed: Mapping[str, str],
    separator: str = "-",
) -> list[str]:
    """Return extra_args as flags: true alone, false as --no-…, a list as several values.

    `taken` is flag -> the knob that labkit says it with (None: always labkit's own), `renamed`
    flag -> today's. Raises ParamsError for a secret, an old flag, or one that labkit sets.
    """
    flags: list[str] = []
    for given, value in params.extra_args.items():
        name = given.lstrip("-").replace("_", "-")
        if SECRET.search(name.replace("-", "_")):
            raise ParamsError(
                f"expected no secret in engine.extra_args, found {given}: its value would be "
                f"written into the run folder; leave it out"
            )
        if name in renamed:
            raise ParamsError(
                f"expected today's flags in engine.extra_args, found {given}: {renamed[name]}"
            )
        bare = name.removeprefix("no-")
        if bare in taken:
            knob = taken[bare]
            if knob is None or getattr(params, knob) is not None:
                way = f"set engine.{knob} only" if knob else "leave it out, labkit sets it"
                raise ParamsError(
                    f"expected no engine.extra_args.{given} beside labkit's own; {way}"
                )
        flag = given if given.startswith("-") else f"--{name.replace('-', separator)}"
        flags += _say(flag, value)
    return flags


def _say(flag: str, value: Any) -> list[str]:
    if value is True or value is None:
        return [flag]
    if value is False:
        return [f"--no-{flag.lstrip('-')}"]
    if isinstance(value, list):
        return [flag, *map(str, value)]
    return [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
