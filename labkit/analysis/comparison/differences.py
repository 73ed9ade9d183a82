"""What differs between two runs beside their numbers: params, traffic, engine, machine, packages.

A comparison tells what one thing does; where two things differ it can't. It must not know how
large an effect is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.places import Place
from labkit.analysis.comparison.told import Told
from labkit.analysis.comparison.traffic import compare_realised, compare_traffic

UNCOUNTED = ("name", "notebook", "sweep", "sampling", "cost")
"""Params that say how an experiment is told, sampled or priced, not what is measured."""
PRIVATE = ("engine.api_key_env", "engine.base_url", "engine.providers_file", "engine.env")
"""Params of which it is told that they differ, not how."""
HARDWARE = (
    "platform",
    "cpu.model",
    "cpu.cores_physical",
    "cpu.cores_usable",
    "memory.total_bytes",
    "memory.limit_bytes",
    "gpus.devices",
    "gpus.driver",
)
NOTED = ("kernel", "python", "git.commit", "git.dirty")
ENGINES = {"llamacpp": "xllamacpp", "vllm": "vllm", "sglang": "sglang"}
"""The package whose version is the engine's, by kind of engine."""
HIDDEN = "not shown"


def find_differences(a: Told, b: Told, places: Sequence[Place]) -> list[Difference]:
    """Return all that differs between two runs, at the places that they share."""
    found = [*_params(a, b), *_arms(a, b), *_values(places), *_machine(a, b), *_packages(a, b)]
    moved = [one.path for one in found if one.thing is not None]
    asked = any(path.startswith(("workload.", "load.")) for path in moved)
    engine = any(path.startswith(("engine.", "packages.")) for path in moved)
    found += compare_traffic(a, b, places, counted=not asked)
    found += _effective(places, counted=not engine)
    found += compare_realised(places, counted=not asked)
    return found


def list_things(found: Sequence[Difference]) -> list[str]:
    """Return the things that differ, each once: "engine.num_threads", "hardware"."""
    return list(dict.fromkeys(one.thing for one in found if one.thing is not None))


def flatten(document: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as {dotted path: value}; lists are values."""
    if not isinstance(document, Mapping) or not document:
        return {prefix: document} if prefix else {}
    found: dict[str, Any] = {}
    for name, value in document.items():
        found |= flatten(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def _unlike(a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    one, other = flatten(a), flatten(b)
    for path in dict.fromkeys((*one, *other)):
        if one.get(path) != other.get(path):
            yield path, one.get(path), other.get(path)


def _params(a: Told, b: Told) -> list[Difference]:
    swept = _swept(a) & _swept(b)
    found = []
    for path, one, other in _unlike(a.params, b.params):
        counted = path.partition(".")[0] not in UNCOUNTED and path not in swept
        if path.startswith(PRIVATE):
            one, other = HIDDEN, HIDDEN
        if path == "sweep":
            one, other = (_tell_sweeps(sweeps) for sweeps in (one, other))
        found.append(Difference("params", path, one, other, path if counted else None))
    return found


def _tell_sweeps(sweeps: Any) -> str:
    """Return which values are measured how often; what arms set stands apart."""
    return "; ".join(
        f"{words.short(one['variable'])} {', '.join(map(words.setting, one['values']))}"
        f" x {one.get('repeats', 1)}"
        for one in sweeps or []
    )


def _arms(a: Told, b: Told) -> list[Difference]:
    """Return what the arms of the same name set unlike."""
    arms_a, arms_b = (
        {(one.get("series"), one["variable"]): one for one in run.params.get("sweep") or []}
        for run in (a, b)
    )
    found = []
    for key in arms_a:
        if key in arms_b:
            for path, one, other in _unlike(arms_a[key].get("set"), arms_b[key].get("set")):
                if path.startswith(PRIVATE):
                    one, other = HIDDEN, HIDDEN
                found.append(Difference("params", f"{key[0]}: {path}", one, other, path))
    return found


def _swept(run: Told) -> set[str]:
    """Return the variables whose base value no point of the run has."""
    moved = [{str(one["variable"])} for one in run.params.get("sweep") or []]
    return set.intersection(*moved) if moved else set()


def _values(places: Sequence[Place]) -> list[Difference]:
    return [
        Difference("params", str(one.variable), one.value_a, one.value_b, str(one.variable))
        for one in places
        if one.value_a != one.value_b
    ]


def _machine(a: Told, b: Told) -> list[Difference]:
    one, other = flatten(a.environment), flatten(b.environment)
    found = []
    for path in (*HARDWARE, *NOTED):
        if one.get(path) != other.get(path):
            kind = "hardware" if path in HARDWARE else "system"
            thing = "hardware" if path in HARDWARE else None
            found.append(Difference(kind, path, one.get(path), other.get(path), thing))
    return found


def _packages(a: Told, b: Told) -> list[Difference]:
    own = {ENGINES.get(str((run.params.get("engine") or {}).get("kind"))) for run in (a, b)}
    installed = [run.environment.get("packages") or {} for run in (a, b)]
    found = [
        Difference("packages", f"packages.{path}", one, other,
                   "the engine's version" if path in own else None)
        for path, one, other in _unlike(*installed)
    ]  # fmt: skip
    told = [
        sorted({str(point["engine_version"]) for point in run.points.values()
                if point.get("engine_version")})
        for run in (a, b)
    ]  # fmt: skip
    if told[0] != told[1]:
        one, other = (", ".join(versions) or None for versions in told)
        found.append(Difference("engine", "engine_version", one, other, "the engine's version"))
    return found


def _effective(places: Sequence[Place], *, counted: bool) -> list[Difference]:
    found: dict[str, Difference] = {}
    for place in places:
        if not place.rows_a or not place.rows_b:
            continue
        told = [rows[0].get("effective") or {} for rows in (place.rows_a, place.rows_b)]
        own = words.short(place.variable)
        for path, one, other in _unlike(*told):
            follows = path == own and place.value_a != place.value_b
            thing = "the engine's settings" if counted and not follows else None
            mark = json.dumps([path, one, other], default=str)
            found.setdefault(mark, Difference("effective", path, one, other, thing))
    return list(found.values())
