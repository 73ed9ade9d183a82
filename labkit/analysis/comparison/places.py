"""The points that two runs have in common, each with its repeats in both.

Points are joined by (series, variable, value). It must not compare their numbers.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis import words
from labkit.analysis.row import Row, is_usable

Key = tuple[Any, Any, str]


@dataclass(frozen=True, slots=True)
class Place:
    """One setting in both runs: its usable repeats, and the ids of those that were left out."""

    series: str | None
    variable: str | None
    value_a: Any
    value_b: Any
    rows_a: tuple[Row, ...]
    rows_b: tuple[Row, ...]
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The setting in words: "static, max_num_seqs 8", "max_num_seqs 4 -> 8"."""
        value = words.setting(self.value_a)
        if self.value_a != self.value_b:
            value += f" -> {words.setting(self.value_b)}"
        return f"{self.series + ', ' if self.series else ''}{words.short(self.variable)} {value}"

    @property
    def mark(self) -> str:
        """A doubt to stand behind the name, with a blank before it; nothing where is none."""
        return " [SUSPECT]" if self.doubted else ""

    @property
    def doubted(self) -> bool:
        """Whether a repeat on either side is SUSPECT."""
        return any(row.get("validity") == "SUSPECT" for row in (*self.rows_a, *self.rows_b))

    @property
    def paired(self) -> bool:
        """Whether repeats are to be taken as pairs: equal traffic, unlike from repeat to repeat.

        Repeats of one seed get the same requests. Where lengths are drawn, a repeat with more
        tokens is slower in both runs, and pairs take that out. Where every repeat asks for as many
        tokens, the seed moves words alone: pairs would halve the degrees of freedom for nothing.
        """
        sizes_a, sizes_b = ([_size(row) for row in rows] for rows in (self.rows_a, self.rows_b))
        if len(sizes_a) < 2 or None in sizes_a or sizes_a != sizes_b:
            return False
        seeds_a, seeds_b = (
            [row.get("seed") for row in rows] for rows in (self.rows_a, self.rows_b)
        )
        return None not in seeds_a and seeds_a == seeds_b and len(set(sizes_a)) > 1


def join(summary_a: Mapping[str, Any], summary_b: Mapping[str, Any]) -> list[Place]:
    """Return what both runs measured, in the order of A; INVALID points are in no list of rows.

    Where the two have no value in common and each has one alone, these are joined: the value is
    then what differs.
    """
    groups_a, groups_b = _group(summary_a["points"]), _group(summary_b["points"])
    pairs = [(key, key) for key in groups_a if key in groups_b]
    if not pairs and len(groups_a) == len(groups_b) == 1:
        one, other = next(iter(groups_a)), next(iter(groups_b))
        pairs = [(one, other)] if one[:2] == other[:2] else []
    return [_place(groups_a[one], groups_b[other]) for one, other in pairs]


def list_alone(summary_a: Mapping[str, Any], summary_b: Mapping[str, Any]) -> list[str]:
    """Return the settings that only one of the two has, in words."""
    told = []
    for name, own, others in (("A", summary_a, summary_b), ("B", summary_b, summary_a)):
        known = _group(others["points"])
        for key, rows in _group(own["points"]).items():
            if key not in known:
                value = words.setting(rows[0].get("value"))
                series = f"{key[0]}, " if key[0] else ""
                told.append(f"{series}{words.short(key[1])} {value} is in {name} alone")
    return told


def _group(rows: Sequence[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for row in rows:
        value = json.dumps(row.get("value"), sort_keys=True)
        found.setdefault((row.get("series"), row.get("variable"), value), []).append(row)
    return found


def _place(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Place:
    first, other = rows_a[0], rows_b[0]
    out = [
        f"{row.get('point_id')} of {name} ({row.get('validity')})"
        for name, rows in (("A", rows_a), ("B", rows_b))
        for row in rows
        if not is_usable(row)
    ]
    usable_a, usable_b = (
        tuple(sorted(filter(is_usable, rows), key=lambda row: row.get("repeat") or 0))
        for rows in (rows_a, rows_b)
    )
    return Place(
        first.get("series"),
        first.get("variable"),
        first.get("value"),
        other.get("value"),
        usable_a,
        usable_b,
        tuple(out),
    )


def _size(row: Row) -> tuple[float, float] | None:
    """Return the prompt and completion tokens of a repeat, None where they are not told."""
    prompts, completions = row.get("prompt_tokens"), row.get("completion_tokens")
    if not prompts or not completions:
        return None
    return (prompts["total"], completions["total"])
