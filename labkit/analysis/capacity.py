"""What a sweep of the load shows of the SLO: the bracket of what holds, its goodput, its knee.

It reads a summary and pools it; it must not put anything into words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis.goodput import GOODPUT, count_met
from labkit.analysis.knee import Knee, Load, find_knee
from labkit.analysis.pool import Group, groups, rank, take_arm
from labkit.analysis.schedule import name_latency
from labkit.analysis.search import Step, next_value, read_tried
from labkit.analysis.statistics import Interval, wilson_interval
from labkit.params import SearchParams, is_whole

DEFAULT_SHARE = 0.9
"""Of the requests that must be good where a sweep has values and no search."""

Summary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """How many requests of one value kept the SLO, over its repeats."""

    group: Group
    num_met: int
    num_requests: int
    interval: Interval
    """Of the share (Wilson); the true one is wider, since requests share a queue."""

    @property
    def share(self) -> float:
        """The share that kept it."""
        return self.num_met / self.num_requests


@dataclass(frozen=True, slots=True)
class Capacity:
    """One sweep of the load against the SLO."""

    variable: str
    series: str | None
    share: float
    """The least share of the requests that must keep it."""
    step: Step
    served: tuple[Served, ...]
    """By rising value, those that were measured and are not INVALID."""
    knee: Knee
    latency: str
    """The latency whose P95 tells the knee."""

    @property
    def best(self) -> Served | None:
        """The highest value that holds below every one that misses."""
        return next((one for one in self.served if one.group.value == self.step.low), None)

    @property
    def first_miss(self) -> Served | None:
        """The lowest value that misses."""
        return next((one for one in self.served if one.group.value == self.step.high), None)

    @property
    def peak(self) -> Group | None:
        """The value with the highest goodput."""
        ranked = rank([one.group for one in self.served], GOODPUT, highest=True)
        return ranked[0] if ranked else None


def find_capacities(summary: Summary) -> list[Capacity]:
    """Return every sweep that searches, or that moves a number of the load, with what it shows."""
    found = []
    for sweep in summary["run"].get("sweep") or []:
        variable, series = sweep["variable"], sweep.get("series")
        numbers = all(type(value) in (int, float) for value in sweep["values"])
        if sweep.get("search") or (variable.startswith("load.") and numbers):
            rows = [
                row
                for row in summary["points"]
                if (row.get("variable"), row.get("series")) == (variable, series)
            ]
            pooled = groups(take_arm(summary, (variable, series)), variable)
            found.append(_read(sweep, rows, pooled))
    return found


def find_groups(capacity: Capacity) -> list[Group]:
    """Return the values of a capacity by rising value."""
    return [one.group for one in capacity.served]


def _read(sweep: Summary, rows: Sequence[Summary], pooled: Sequence[Group]) -> Capacity:
    served = []
    for group in pooled:
        counted = count_met(group)
        interval = wilson_interval(*counted) if counted else None
        if counted and interval:
            served.append(Served(group, *counted, interval))
    search = _take_search(sweep)
    variable = sweep["variable"]
    latency = name_latency("e2e_latency_s", rows)
    return Capacity(
        variable=variable,
        series=sweep.get("series"),
        share=search.share if search else DEFAULT_SHARE,
        step=next_value(search, read_tried(rows), whole=is_whole(variable))
        if search
        else _bracket(served),
        served=tuple(served),
        knee=find_knee([load for one in served if (load := _load(one.group, latency)) is not None]),
        latency=latency,
    )


def _take_search(sweep: Summary) -> SearchParams | None:
    told = sweep.get("search")
    return SearchParams.model_validate(told) if told else None


def _bracket(served: Sequence[Served]) -> Step:
    """Return what values that were given say, without a search."""
    missing = [one.group.value for one in served if one.share < DEFAULT_SHARE]
    high = min(missing, default=None)
    held = [one.group.value for one in served if high is None or one.group.value < high]
    return Step(None, "these are the values that were given", max(held, default=None), high)


def _load(group: Group, latency: str) -> Load | None:
    """Return a value's P95 latency, and by Little's law what it holds in flight."""
    tail, mean = group.mean(f"{latency}.p95"), group.mean("e2e_latency_s.mean")
    rate = group.mean("offered_rate_per_s") or group.mean("request_throughput_per_s")
    if tail is None:
        return None
    return Load(float(group.value), tail, None if mean is None or rate is None else rate * mean)
