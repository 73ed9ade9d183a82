"""What differs between two runs beside their numbers: params, traffic, engine, machine, packages.

A comparison tells what one thing does; where two things differ it can't. It must not know how
large an effect is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.analysis import words
from labkit.analysis.comparison.places import Place
from labkit.analysis.comparison.told import Told
from labkit.analysis.row import Row, read

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
REALISED = (
    "num_requests",
    "num_error",
    "prompt_tokens.total",
    "completion_tokens.total",
    "offered_rate_per_s",
    "achieved_rate_per_s",
)
MAX_REALISED = 0.01
"""By how much of the larger one what was sent and answered may differ; drawn lengths stay equal."""
MAX_PLACES = 3
HIDDEN = "not shown"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in both; `thing` names what it belongs to.

    Things are counted, and more than one confounds. Without one it is only noted: it follows from
    another difference, or is not expected to move a number.
    """

    kind: str
    path: str
    a: Any
    b: Any
    thing: str | None = None


def find_differences(a: Told, b: Told, places: Sequence[Place]) -> list[Difference]:
    """Return all that differs between two runs, at the places that they share."""
    found = [*_params(a, b), *_arms(a, b), *_values(places), *_machine(a, b), *_packages(a, b)]
    moved = [one.path for one in found if one.thing is not None]
    asked = any(path.startswith(("workload.", "load.")) for path in moved)
    engine = any(path.startswith(("engine.", "packages.")) for path in moved)
    found += _traffic(a, b, places, counted=not asked)
    found += _effective(places, counted=not engine)
    found += _realised(places, counted=not asked)
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


def _traffic(a: Told, b: Told, places: Sequence[Place], *, counted: bool) -> list[Difference]:
    found = []
    for place in places:
        seeds = {row.get("seed"): row for row in place.rows_b}
        for row in place.rows_a:
            if (other := seeds.get(row.get("seed"))) is None:
                continue
            one, two = a.point(row), b.point(other)
            if not is_same_traffic(one, two):
                marks = [str(point.get("workload_sha256"))[:12] for point in (one, two)]
                thing = "the traffic" if counted else None
                found.append(
                    (place.name, Difference("traffic", "traffic", marks[0], marks[1], thing))
                )
    return _gather(found)


def _gather(found: Sequence[tuple[str, Difference]]) -> list[Difference]:
    """Return one difference for each path, with the settings where it is."""
    gathered = []
    for path in dict.fromkeys(one.path for _, one in found):
        own = [(name, one) for name, one in found if one.path == path]
        names = list(dict.fromkeys(name for name, _ in own))
        more = [f"{len(names) - MAX_PLACES} more"] if len(names) > MAX_PLACES else []
        where = words.join([*names[:MAX_PLACES], *more])
        gathered.append(replace(own[0][1], path=f"{path} at {where}"))
    return gathered


def is_same_traffic(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two points got the same requests, but for the salt that keeps caches cold.

    The salt is the id of the point, so where ids differ the fingerprints of salted prompts do, too,
    and the params of the traffic, its seed and its source are compared.
    """
    if one.get("workload_sha256") == other.get("workload_sha256"):
        return True
    salted = bool((one.get("workload") or {}).get("salt"))
    if not salted or one.get("point_id") == other.get("point_id"):
        return False
    sources = [(point.get("traffic") or {}).get("source_sha256") for point in (one, other)]
    alike = [one.get(key) == other.get(key) for key in ("workload", "seed")]
    return all(alike) and sources[0] == sources[1]


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


def _realised(places: Sequence[Place], *, counted: bool) -> list[Difference]:
    found = []
    for place in places:
        for field in REALISED:
            one, other = (_mean(rows, field) for rows in _share_seeds(place))
            if one is None or other is None:
                continue
            if abs(one - other) > MAX_REALISED * max(abs(one), abs(other)):
                thing = "the load that came about" if counted else None
                found.append((place.name, Difference("realised load", field, one, other, thing)))
    return _gather(found)


def _share_seeds(place: Place) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the repeats whose seeds both have, or all where they have none in common."""
    seeds = {row.get("seed") for row in place.rows_a} & {row.get("seed") for row in place.rows_b}
    if not seeds:
        return place.rows_a, place.rows_b
    one, other = (
        [row for row in rows if row.get("seed") in seeds] for rows in (place.rows_a, place.rows_b)
    )
    return one, other


def _mean(rows: Sequence[Row], field: str) -> float | None:
    told = [value for row in rows if (value := read(row, field)) is not None]
    return sum(told) / len(told) if told else None
