"""What tasks of k dependent calls take, beside what k single calls would lead one to expect.

It reads a summary and pools it; it must not put anything into words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.analysis.pool import Group, groups, take_arm
from labkit.analysis.statistics import Interval, wilson_interval

STEPS = "workload.num_steps"


@dataclass(frozen=True, slots=True)
class Kept:
    """How many tasks of one length kept the SLO in every call."""

    num_met: int
    num_tasks: int
    call_share: float
    """Calls that keep the SLO / all calls of these tasks: p."""
    chance: float
    """The share of tasks to be expected if calls missed by chance alone: p ** k."""
    interval: Interval
    """Of the share of tasks (Wilson)."""

    @property
    def share(self) -> float:
        """The share of tasks that kept it."""
        return self.num_met / self.num_tasks


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks of one length, over the repeats."""

    group: Group
    num_steps: int
    expected_s: float | None
    """num_steps times the median call of the shortest task, and the think time between them."""
    kept: Kept | None
    """None where nothing was counted against the SLO."""


def find_tasks(summary: Mapping[str, Any]) -> dict[str | None, list[Tasks]]:
    """Return by arm the tasks of a sweep over num_steps, the shortest first."""
    series = [row.get("series") for row in summary["points"] if row.get("variable") == STEPS]
    return {
        name: _compare(groups(take_arm(summary, (STEPS, name)), STEPS))
        for name in dict.fromkeys(series)
    }


def _compare(pooled: list[Group]) -> list[Tasks]:
    measured = [one for one in pooled if one.mean("task_latency_s.p50") is not None]
    call_s = measured[0].mean("e2e_latency_s.p50") if measured else None
    return [_read(one, call_s) for one in measured]


def _read(group: Group, call_s: float | None) -> Tasks:
    steps = int(group.value)
    think_s = float(group.rows[0]["workload"].get("think_time_s") or 0.0)
    expected_s = None if call_s is None else steps * call_s + (steps - 1) * think_s
    return Tasks(group, steps, expected_s, _count(group, steps))


def _count(group: Group, steps: int) -> Kept | None:
    names = ("num_tasks_slo_met", "num_tasks", "num_slo_met", "num_requests")
    counts = [group.numbers(name) for name in names]
    if any(len(one) < len(group.rows) for one in counts):
        return None
    met, total, good, calls = (int(sum(one)) for one in counts)
    interval = wilson_interval(met, total)
    if interval is None or not calls:
        return None
    return Kept(met, total, good / calls, (good / calls) ** steps, interval)
