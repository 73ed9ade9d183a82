"""Rows of the summary pooled by swept variable and value, their repeats side by side.

It knows rows only; it must not judge them nor put them into words.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis import words
from labkit.analysis.row import Row, is_usable, read
from labkit.analysis.statistics import SINGLE_RUN_RESOLUTION, Comparison, compare
from labkit.analysis.twins import find_spread, find_twins

Arm = tuple[str | None, str | None]
"""A swept variable and the name of an arm."""
MAX_NAMED = 3
"""Values in doubt that a title names; of more it counts them."""


@dataclass(frozen=True, slots=True)
class Group:
    """All usable repeats of one value of one variable."""

    variable: str | None
    value: Any
    rows: tuple[Row, ...]
    series: str | None = None
    """The arm that they belong to."""
    twins: tuple[tuple[Row, ...], ...] = ()
    """Rows of the whole run that had equal settings: what they differ by is noise."""

    @property
    def label(self) -> str:
        """The value as text."""
        return words.setting(self.value)

    @property
    def name(self) -> str:
        """The variable's short name and the value, "max_num_seqs 8"."""
        return f"{words.short(self.variable)} {self.label}"

    @property
    def points(self) -> tuple[str, ...]:
        """The ids of its points."""
        return tuple(str(row.get("point_id")) for row in self.rows)

    @property
    def doubted(self) -> bool:
        """Whether one of its repeats is SUSPECT."""
        return any(row.get("validity") == "SUSPECT" for row in self.rows)

    def numbers(self, field: str) -> list[float]:
        """Return one number a repeat for a field such as "ttft_s.p95", unmeasured ones left out."""
        return [value for row in self.rows if (value := read(row, field)) is not None]

    def mean(self, field: str) -> float | None:
        """Return the mean over repeats of a field, None where no repeat measured it."""
        values = self.numbers(field)
        return sum(values) / len(values) if values else None

    def reason(self, field: str) -> str:
        """Return why a field was not measured."""
        name = field.partition(".")[0]
        reasons = [row["null_reasons"].get(name) for row in self.rows if "null_reasons" in row]
        return next((reason for reason in reasons if reason), "no reason was recorded")


def arms(summary: Row) -> list[Arm]:
    """Return each swept variable with each of its arms, in the order of their first point."""
    found = [(row.get("variable"), row.get("series")) for row in summary["points"]]
    return list(dict.fromkeys(found))


def take_arm(summary: Mapping[str, Any], arm: Arm) -> dict[str, Any]:
    """Return the summary without what other arms measured of this variable."""
    variable, series = arm
    rows = [
        row
        for row in summary["points"]
        if row.get("variable") != variable or row.get("series") == series
    ]
    return {**summary, "points": rows}


def groups(summary: Row, variable: str | None) -> list[Group]:
    """Return the values of a variable with their usable rows; INVALID ones are left out.

    Where several arms move it, `take_arm` comes first: arms are never pooled.

    Numbers come in ascending order, anything else in the order of the points.
    """
    found: dict[str, list[Row]] = {}
    for row in summary["points"]:
        if row.get("variable") == variable and is_usable(row):
            key = json.dumps([row.get("series"), row.get("value")], sort_keys=True)
            found.setdefault(key, []).append(row)
    twins = tuple(find_twins(summary["points"]))
    pooled = [
        Group(variable, rows[0].get("value"), tuple(rows), rows[0].get("series"), twins)
        for rows in found.values()
    ]
    return in_order(pooled)


def rank(pooled: Sequence[Group], field: str, *, highest: bool) -> list[Group]:
    """Return the groups that measured a field, best first; equal ones keep their order."""
    measured = [one for one in pooled if one.numbers(field)]
    sign = -1 if highest else 1
    return sorted(measured, key=lambda one: sign * (one.mean(field) or 0.0))


def ties(ranked: Sequence[Group], field: str) -> list[Group]:
    """Return those that cannot be told apart from the first one, without it."""
    return [one for one in ranked[1:] if not contrast(ranked[0], one, field).resolved]


def contrast(a: Group, b: Group, field: str) -> Comparison:
    """Return how b differs from a in a field that both measured.

    With one repeat, twins that lie further apart than the rule of thumb take its place.
    """
    one, other = a.numbers(field), b.numbers(field)
    noise = find_spread(a.twins, field) if min(len(one), len(other)) < 2 else None
    limit = max(SINGLE_RUN_RESOLUTION, noise.share if noise else 0.0)
    return compare(one, other, limit)


def list_points(pooled: Iterable[Group]) -> tuple[str, ...]:
    """Return the ids of the points of all groups."""
    return tuple(point for one in pooled for point in one.points)


def tell_verdict(pooled: Sequence[Group]) -> str:
    """Return the verdict on the numbers of these groups, to stand beside them.

    It is "[VALID]", "[SUSPECT]" for one group, or "[SUSPECT at max_num_seqs = 2 and 4]" for those
    of several that are in doubt.
    """
    doubted = dict.fromkeys(one.label for one in in_order(pooled) if one.doubted)
    if not doubted:
        return "[VALID]"
    if len(pooled) == 1:
        return "[SUSPECT]"
    return f"[SUSPECT at {words.short(pooled[0].variable)} = {words.join(list(doubted))}]"


def tell_doubt(pooled: Sequence[Group]) -> str:
    """Return the verdict, short and with a blank before it, where it is a doubt; else nothing.

    Of more than 3 values in doubt it tells how many they are: " [SUSPECT at 5 of 8 values]".
    """
    doubted = {one.label for one in pooled if one.doubted}
    if len(doubted) > MAX_NAMED:
        values = {one.label for one in pooled}
        return f" [SUSPECT at {len(doubted)} of {len(values)} values]"
    return f" {tell_verdict(pooled)}" if doubted else ""


def in_order(pooled: Sequence[Group]) -> list[Group]:
    """Return groups by ascending value where all are numbers, else as they come."""
    if all(isinstance(one.value, int | float) for one in pooled):
        return sorted(pooled, key=lambda one: one.value)
    return list(pooled)
