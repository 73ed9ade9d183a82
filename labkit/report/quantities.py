"""What figures and tables ask of numbers: a row's number, the order of values, a unit that fits.

It knows nothing of figures or tables; how a number reads is in labkit.analysis.words.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")


def choose_time_unit(seconds: Iterable[float | None]) -> tuple[float, str]:
    """Return (factor from seconds, unit): ms where the largest is under one second, else s."""
    known = [value for value in seconds if value is not None]
    return (1e3, "ms") if known and max(known) < 1 else (1.0, "s")


def order_values(values: Iterable[Any]) -> list[Any]:
    """Return distinct values: default first, then switches, numbers by size, words as given."""
    distinct: list[Any] = []
    for value in values:
        if not any(value is seen or repr(value) == repr(seen) for seen in distinct):
            distinct.append(value)

    def key(value: Any) -> tuple[int, float]:
        if value is None:
            return (0, 0)
        if isinstance(value, bool):
            return (1, value)
        return (2, value) if isinstance(value, int | float) else (3, 0)

    return sorted(distinct, key=key)


def look_up(row: dict[str, Any], path: str) -> float | None:
    """Return the number at a dotted path of a summary row, None where it was not measured."""
    found: Any = row
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return None if isinstance(found, bool) or not isinstance(found, int | float) else found


def thin_peaks(
    rows: Sequence[tuple[float, float | None]], most: int
) -> Sequence[tuple[float, float | None]]:
    """Return at most `most` (time, number) pairs: of each run of neighbours the highest.

    A peak is never lost; a run in which nothing was measured keeps its gap.
    """
    if len(rows) <= most:
        return rows
    edges = [round(i * len(rows) / most) for i in range(most + 1)]
    return [
        max(rows[low:high], key=lambda row: -math.inf if row[1] is None else row[1])
        for low, high in pairwise(edges)
    ]


def thin(rows: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` items, evenly spaced, first and last kept."""
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]
