"""From params to the list of points, pure: nothing is launched, read or written here."""

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import ParamsError
from labkit.params import (
    EngineParams,
    LoadParams,
    Params,
    SweepParams,
    WorkloadParams,
    list_paths,
    name_nearest,
    parse_params,
)

SECTIONS = ("engine", "workload", "load")
SWEEPABLE = tuple(f"{section}." for section in SECTIONS)
MAX_POINTS = 10_000

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one variable, once: everything that is needed to measure it."""

    point_id: str
    index: int
    variable: str
    value: Value
    series: str | None
    """The arm that it belongs to, where several move the same variable."""
    repeat: int
    seed: int
    """Of the workload; the same for every value, another one for every repeat."""
    engine: EngineParams
    workload: WorkloadParams
    load: LoadParams
    relaunch: bool = False
    """Whether it wants an engine of its own, though the one before it has the same settings."""

    def place(self) -> dict[str, Any]:
        """Return what names it in a manifest, a record or an event."""
        return {
            "point_id": self.point_id,
            "variable": self.variable,
            "value": self.value,
            "series": self.series,
            "repeat": self.repeat,
        }


def make_plan(params: Params) -> list[Point]:
    """Return the points in the order in which they are measured.

    Each differs from the base params in its variable, and in what its arm sets, alone. Repeats are
    interleaved (all values of all arms, then all again), so that drift of the machine does not
    fall on one value. Params that climb have no points. Raises ParamsError for a variable that does
    not exist, a value that does not fit it, or more points than anybody would wait for.
    """
    if params.climbs:
        return []
    count = sum(len(sweep.values) * sweep.repeats for sweep in params.sweep)
    if count > MAX_POINTS:
        raise ParamsError(
            f"expected at most {MAX_POINTS} points, found {count}; give fewer values or repeats"
        )
    orders = [list(_order(sweep, params.workload.seed)) for sweep in params.sweep]
    turns = [
        (sweep, repeat, value)
        for repeat in range(max(sweep.repeats for sweep in params.sweep))
        for sweep, order in zip(params.sweep, orders, strict=True)
        for value in (order[repeat] if repeat < sweep.repeats else ())
    ]
    return [_make_point(params, index, *turn) for index, turn in enumerate(turns)]


def add_points(
    params: Params, sweep: SweepParams, value: Value, repeats: Sequence[int], index: int
) -> list[Point]:
    """Return the points of one more value of a sweep, a repeat each; `index` is the first one's."""
    return [
        _make_point(params, place, sweep, repeat, value)
        for place, repeat in enumerate(repeats, start=index)
    ]


def _make_point(params: Params, index: int, sweep: SweepParams, repeat: int, value: Value) -> Point:
    moved = _move(params, sweep, value)
    parts = [f"{index:03d}", sweep.variable.rpartition(".")[2], _slug(value)]
    parts += [_slug(sweep.series)] if sweep.series else []
    return Point(
        point_id="-".join([*parts, f"r{repeat}"]),
        index=index,
        variable=sweep.variable,
        value=value,
        series=sweep.series,
        repeat=repeat,
        seed=moved.workload.seed + repeat,
        engine=moved.engine,
        workload=moved.workload,
        load=moved.load,
        relaunch=sweep.relaunch,
    )


def _order(sweep: SweepParams, seed: int) -> Iterator[list[Value]]:
    rng = random.Random(f"order {seed} {sweep.variable}")
    for _ in range(sweep.repeats):
        values = list(sweep.values)
        if sweep.order == "shuffled":
            rng.shuffle(values)
        yield values


def _move(params: Params, sweep: SweepParams, value: Value) -> Params:
    known = [path for path in list_paths() if path.startswith(SWEEPABLE)]
    if sweep.variable not in known:
        raise ParamsError(
            f"sweep.variable {sweep.variable} is not a parameter"
            f"{name_nearest(sweep.variable, known)}"
        )
    data = params.model_dump(mode="json")
    source = f"sweep over {sweep.variable}" + (f", {sweep.series}" if sweep.series else "")
    for path, own in sorted(sweep.set.items(), key=lambda one: one[0].count(".")):
        if path not in known and path not in SECTIONS:
            raise ParamsError(
                f"{source}: set {path} is not a parameter{name_nearest(path, [*known, *SECTIONS])}"
            )
        section, _, knob = path.partition(".")
        data[section] = {**data[section], knob: own} if knob else own
    section, _, knob = sweep.variable.partition(".")
    if isinstance(data[section], dict):
        data[section] = {**data[section], knob: value}
    if sweep.search and sweep.search.duration_s and isinstance(data["workload"], dict):
        needed = math.ceil(float(value) * sweep.search.duration_s)
        data["workload"] = _lengthen(data["workload"], needed)
    return parse_params(data, source=source)


def _lengthen(workload: dict[str, Any], needed: int) -> dict[str, Any]:
    """Return a workload of at least so many requests or tasks, where it tells how many."""
    counts = {name: workload.get(name) for name in ("num_requests", "num_tasks")}
    known = {name: count for name, count in counts.items() if isinstance(count, int)}
    return {**workload, **{name: max(count, needed) for name, count in known.items()}}


def _slug(value: bool | int | float | str) -> str:
    text = str(value).lower()
    plain = "".join(char if char.isalnum() or char == "." else "-" for char in text)
    return re.sub("-+", "-", plain)[:40]
