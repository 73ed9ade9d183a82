"""From params to the list of points, pure: nothing is launched, read or written here."""

import random
from collections.abc import Iterator
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

SWEEPABLE = ("engine.", "workload.", "load.")
MAX_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one variable, once: everything that is needed to measure it."""

    point_id: str
    index: int
    variable: str
    value: bool | int | float | str
    repeat: int
    seed: int
    """Of the workload; the same for every value, another one for every repeat."""
    engine: EngineParams
    workload: WorkloadParams
    load: LoadParams

    def place(self) -> dict[str, Any]:
        """Return what names it in a manifest, a record or an event."""
        return {
            "point_id": self.point_id,
            "variable": self.variable,
            "value": self.value,
            "repeat": self.repeat,
        }


def make_plan(params: Params) -> list[Point]:
    """Return the points in the order in which they are measured.

    Each differs from the base params in its variable alone. Repeats are interleaved (all values,
    then all values again), so that drift of the machine does not fall on one value. Raises
    ParamsError for a variable that does not exist, a value that does not fit it, or more points
    than anybody would wait for.
    """
    count = sum(len(sweep.values) * sweep.repeats for sweep in params.sweep)
    if count > MAX_POINTS:
        raise ParamsError(
            f"expected at most {MAX_POINTS} points, found {count}; give fewer values or repeats"
        )
    plan: list[Point] = []
    for sweep in params.sweep:
        for repeat, value in _order(sweep, params.workload.seed):
            index = len(plan)
            moved = _move(params, sweep.variable, value)
            plan.append(
                Point(
                    point_id=f"{index:03d}-{sweep.variable.rpartition('.')[2]}-{_slug(value)}"
                    f"-r{repeat}",
                    index=index,
                    variable=sweep.variable,
                    value=value,
                    repeat=repeat,
                    seed=moved.workload.seed + repeat,
                    engine=moved.engine,
                    workload=moved.workload,
                    load=moved.load,
                )
            )
    return plan


def _order(sweep: SweepParams, seed: int) -> Iterator[tuple[int, bool | int | float | str]]:
    rng = random.Random(f"order {seed} {sweep.variable}")
    for repeat in range(sweep.repeats):
        values = list(sweep.values)
        if sweep.order == "shuffled":
            rng.shuffle(values)
        for value in values:
            yield repeat, value


def _move(params: Params, variable: str, value: Any) -> Params:
    known = [path for path in list_paths() if path.startswith(SWEEPABLE)]
    if variable not in known:
        raise ParamsError(
            f"sweep.variable {variable} is not a parameter{name_nearest(variable, known)}"
        )
    section, _, knob = variable.partition(".")
    data = params.model_dump(mode="json")
    data[section][knob] = value
    return parse_params(data, source=f"sweep over {variable}")


def _slug(value: bool | int | float | str) -> str:
    text = str(value).lower()
    return "".join(char if char.isalnum() or char == "." else "-" for char in text)[:40]
