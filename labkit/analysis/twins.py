"""Points of one run that had the same settings though they stand in different sweeps.

Where the base value of one variable is a value of another sweep, the run measured it twice: how far
such twins lie apart is noise, seen rather than guessed. It must not put anything into words.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.analysis.row import Row, is_usable, read


@dataclass(frozen=True, slots=True)
class Spread:
    """The twins furthest apart in a field: the gap as a share of the larger, and the two rows."""

    share: float
    low: Row
    high: Row


def find_twins(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    """Return sets of usable rows with equal settings that stand at different swept values."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if is_usable(row) and row.get("asked"):
            lowered = row.get("stepped_down") or []
            settings = [row["asked"], lowered, row.get("workload"), row.get("load")]
            # of endpoints, a row does not tell which one it was
            settings += [row.get("series")] if row["asked"].get("kind") == "endpoint" else []
            found.setdefault(json.dumps(settings, sort_keys=True), []).append(row)
    return [tuple(own) for own in found.values() if len({_place(row) for row in own}) > 1]


def _place(row: Row) -> str:
    return json.dumps([row.get("variable"), row.get("series"), row.get("value")])


def find_spread(twins: Sequence[Sequence[Row]], field: str) -> Spread | None:
    """Return the largest spread of a field between twins, None where no two of them tell it."""
    spreads = []
    for own in twins:
        told = [(value, row) for row in own if (value := read(row, field)) is not None]
        if len(told) < 2:
            continue
        low, high = min(told, key=lambda one: one[0]), max(told, key=lambda one: one[0])
        share = (high[0] - low[0]) / high[0] if high[0] > 0 else 0.0
        spreads.append(Spread(share, low[1], high[1]))
    return max(spreads, key=lambda one: one.share, default=None)
