"""Two arms of one variable side by side: the same value, the same requests, one thing changed.

It pairs and measures; it must not put anything into words, nor judge a point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis.finding import Effect, Evidence
from labkit.analysis.pool import Group, contrast, groups, take_arm
from labkit.analysis.row import Row
from labkit.analysis.statistics import ratio_interval


@dataclass(frozen=True, slots=True)
class Pair:
    """One value as both arms measured it; `b` is told against `a`."""

    a: Group
    b: Group

    @property
    def label(self) -> str:
        """The value as text."""
        return self.a.label

    @property
    def name(self) -> str:
        """The variable and the value, "max_concurrency 64"."""
        return self.a.name

    @property
    def points(self) -> tuple[str, ...]:
        """The ids of the points of both."""
        return self.a.points + self.b.points

    @property
    def same_requests(self) -> bool:
        """Whether both were sent the same requests, apart from the salt, in the same order."""
        return _list_asked(self.a) == _list_asked(self.b)

    def measures(self, field: str) -> bool:
        """Return whether both measured a field, and a ratio of it can be told."""
        return bool(self.a.numbers(field) and self.b.numbers(field) and self.a.mean(field))

    def ratio(self, field: str) -> Effect:
        """Return b / a of a field that both measured."""
        return measure_ratio(self.a, self.b, field)

    def is_resolved(self, field: str) -> bool:
        """Return whether b differs from a beyond what repeats, or the 10 % rule, can tell apart."""
        return contrast(self.a, self.b, field).resolved

    def bounds(self, field: str) -> tuple[float, float]:
        """Return between what a ratio lies: its interval, or with one repeat the rule of thumb."""
        effect = self.ratio(field)
        if effect.low is not None and effect.high is not None:
            return effect.low, effect.high
        slack = contrast(self.a, self.b, field).resolution
        return effect.value * (1 - slack), effect.value / (1 - slack)

    def evidence(self, field: str) -> tuple[Evidence, ...]:
        """Return what each arm measured of a field."""
        return tuple(
            Evidence(field, f"{one.name}, {one.series}", mean)
            for one in (self.a, self.b)
            if (mean := one.mean(field)) is not None
        )


def measure_ratio(a: Group, b: Group, field: str) -> Effect:
    """Return b / a of a field that both measured, with its interval where repeats give one.

    With fewer than two repeats, or a number that is not above 0, the bounds are None.
    """
    one, other = a.numbers(field), b.numbers(field)
    interval = ratio_interval(one, other)
    low, high = (interval.low, interval.high) if interval else (None, None)
    ratio = contrast(a, b, field).ratio or 0.0
    return Effect(field, "ratio", ratio, low, high, min(len(one), len(other)))


def list_variables(summary: Row) -> list[str]:
    """Return the swept variables in the order of their first point."""
    return list(dict.fromkeys(str(row.get("variable")) for row in summary["points"]))


def list_series(summary: dict[str, Any] | Row, variable: str) -> list[str]:
    """Return the names of the arms that move a variable, in the order of their first point."""
    rows = [row for row in summary["points"] if row.get("variable") == variable]
    return list(dict.fromkeys(str(row["series"]) for row in rows if row.get("series")))


def find_groups(summary: Row, variable: str, series: str) -> list[Group]:
    """Return the usable values of one arm, in order."""
    own = groups(take_arm(summary, (variable, series)), variable)
    return [one for one in own if one.series == series]


def pair_arms(summary: Row, variable: str, a: str, b: str) -> list[Pair]:
    """Return the values that both arms measured, in order."""
    others = {one.label: one for one in find_groups(summary, variable, b)}
    return [
        Pair(one, others[one.label])
        for one in find_groups(summary, variable, a)
        if one.label in others
    ]


def choose_pair(pairs: Sequence[Pair], value: float) -> Pair | None:
    """Return the pair at a value or, where it was not measured, at the largest one below it.

    Where all are above it, the smallest; None where there is no pair.
    """
    numbered = [one for one in pairs if isinstance(one.a.value, int | float)]
    below = [one for one in numbered if one.a.value <= value]
    return below[-1] if below else next(iter(numbered), None)


def _list_asked(group: Group) -> list[tuple[str, Any, Any]]:
    """Return what makes the requests of each repeat: the workload, without its switch, and seed."""
    return sorted(
        (
            repr(sorted((k, v) for k, v in row["workload"].items() if k != "constrained")),
            row.get("seed"),
            row.get("repeat"),
        )
        for row in group.rows
    )
