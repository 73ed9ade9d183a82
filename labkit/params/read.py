"""From a YAML file to params, with overrides, and one line for whatever is wrong with it."""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from labkit.errors import ParamsError
from labkit.params.document import read_yaml
from labkit.params.experiment import Params, SweepParams
from labkit.params.length import DISTRIBUTION, Distribution
from labkit.params.providers import settle_provider
from labkit.params.renamed import explain_word
from labkit.params.search import SearchParams
from labkit.params.workload import WORKLOADS

_SECRET = re.compile(r"key|token(?!s)|passw|secret", re.IGNORECASE)
"""Places whose values no error shows."""


def load_params(path: Path, overrides: Sequence[str] = ()) -> Params:
    """Read a params file, apply `a.b=value` overrides (values in YAML) and check all of it.

    Raises ParamsError, in one line, for a file that is not there or is not YAML, an unknown key,
    a wrong type, or values that do not go together.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParamsError(f"expected a params file at {path}, found: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"expected YAML in {path}, found: {error}") from None
    except ValueError:
        raise ParamsError(f"expected a path of a params file, found {str(path)!r}") from None
    data = read_yaml(text, f"in {path}")
    if not isinstance(data, dict):
        raise ParamsError(f"expected sections such as engine: and sweep: in {path}, found none")
    for override in overrides:
        _override(data, override)
    settle_provider(data.get("engine"), path)
    for arm in _list_arms(data):
        settle_provider(arm.get("engine"), path)
    return parse_params(data, source=str(path))


def parse_params(data: dict[str, Any], *, source: str = "params") -> Params:
    """Check params that are already read; `source` is named in errors."""
    try:
        return Params.model_validate(data)
    except ValidationError as error:
        told = "; ".join(dict.fromkeys(_explain(dict(one), data) for one in error.errors()))
        raise ParamsError(f"{source}: {told}") from None
    except (ValueError, RecursionError) as error:  # of data that can't be dumped or never end
        raise ParamsError(f"{source}: expected plain values, found: {error}") from None


def list_paths(section: type[BaseModel] = Params, prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every value that a params file may set, of any kind of workload."""
    for name, field in section.model_fields.items():
        if section is Params and name == "workload":
            yield from dict.fromkeys(f"{name}.{key}" for key in _list_workload_keys())
        elif (below := _find_section(field.annotation)) is not None:
            yield from list_paths(below, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def is_whole(path: str) -> bool:
    """Return whether the parameter at a dotted path takes whole numbers and no others."""
    section, _, knob = path.partition(".")
    owners = (
        list(WORKLOADS.values())
        if section == "workload"
        else [Params.model_fields[section].annotation]
    )
    leaves = {
        leaf
        for owner in owners
        if isinstance(owner, type) and issubclass(owner, BaseModel) and knob in owner.model_fields
        for leaf in _list_leaves(owner.model_fields[knob].annotation)
    }
    return int in leaves and float not in leaves


def _list_leaves(annotation: Any) -> Iterator[Any]:
    parts = get_args(annotation)
    for part in parts:
        yield from _list_leaves(part)
    if not parts:
        yield annotation


def name_nearest(word: str, known: Sequence[str]) -> str:
    """Return "; did you mean X?" for the known word nearest to this one, or what is known."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"


def _list_arms(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what each arm of a sweep sets, where it is told as it should be."""
    sweeps = data.get("sweep")
    for one in sweeps if isinstance(sweeps, list) else [sweeps]:
        if isinstance(one, dict) and isinstance(one.get("set"), dict):
            yield one["set"]


def _override(data: dict[str, Any], override: str) -> None:
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise ParamsError(f"expected an override such as engine.max_num_seqs=8, found {override!r}")
    try:
        value = read_yaml(text, f"after {path}=")
    except ParamsError:
        if not _SECRET.search(path):
            raise
        raise ParamsError(
            f"expected YAML after {path}=, found something else (not shown)"
        ) from None
    *parents, last = path.strip().split(".")
    place: Any = data
    for key in parents:
        place = place.setdefault(key, {}) if isinstance(place, dict) else _item(place, key, path)
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list):
        _item(place, last, path)
        place[int(last)] = value
    else:
        raise ParamsError(f"expected a section above {path}, found {place!r}")


def _item(place: Any, key: str, path: str) -> Any:
    if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
        return place[int(key)]
    raise ParamsError(f"expected a place in the params for {path}, found none at {key!r}")


def _explain(error: dict[str, Any], data: dict[str, Any]) -> str:
    steps = [str(step) for step in error["loc"]]
    kind = steps.pop(1) if steps[0:1] == ["workload"] and len(steps) > 1 else None
    known = _siblings(steps[:-1], kind)
    steps = list(_keep_places(error, data))
    where = ".".join(steps)
    if error["type"] == "extra_forbidden":
        if len(steps) == 2 and steps[0] == "engine" and (way := explain_word(steps[1])):
            return f"{where} is not a parameter: {way}"
        if kind is None or len(steps) != 2:
            return f"{where} is not a parameter{name_nearest(steps[-1], known)}"
        owners = [name for name, section in WORKLOADS.items() if steps[1] in section.model_fields]
        if owners:
            return f"{where} belongs to kind {' and '.join(owners)}, found kind {kind}"
        return f"{where} is not a parameter of kind {kind}{name_nearest(steps[1], known)}"
    if error["type"] == "missing":
        return f"{where} is required, found nothing"
    if error["type"] == "union_tag_invalid":
        tag = error["ctx"]["tag"]
        return f"{where}.kind {tag} is not known{name_nearest(tag, list(WORKLOADS))}"
    message = str(error["msg"]).removeprefix("Value error, ")
    found = error.get("input")
    hidden = isinstance(found, dict) or _SECRET.search(where)
    tail = "" if hidden else f", found {found!r}"
    return f"{where or 'params'}: {message[0].lower()}{message[1:]}{tail}"


def _keep_places(error: dict[str, Any], data: Any) -> Iterator[str]:
    """Yield the steps that are places in the params, without what pydantic calls its own parts."""
    for number, step in enumerate(error["loc"], start=1):
        if (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and step in range(len(data))
        ):
            data = data[step]
            yield str(step)
        elif error["type"] == "missing" and number == len(error["loc"]):
            yield str(step)


def _siblings(steps: list[str], kind: str | None) -> list[str]:
    section: type[BaseModel] = Params
    for step in steps:
        if step == "sweep":
            section = SweepParams
        elif step == "search":
            section = SearchParams
        elif step == "workload" and kind is not None:
            section = WORKLOADS[kind]
        elif step == DISTRIBUTION:
            section = Distribution
        elif step in section.model_fields:
            section = _find_section(section.model_fields[step].annotation) or section
    return list(section.model_fields)


def _find_section(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a field holds, which may also be unset; None for a plain value."""
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


def _list_workload_keys() -> Iterator[str]:
    for section in WORKLOADS.values():
        yield from section.model_fields
