"""Which value to measure next, in search of the highest one at which the SLO holds.

Pure: from what was measured to the next value, so that a run that was stopped goes on where it
stopped. It must not know points, records or how a value is measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis import words
from labkit.analysis.row import is_usable
from labkit.params import SearchParams

MAX_ATTEMPTS = 2
"""Measurements of one value that may all be INVALID before the search gives up."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One measurement of a value: how many of its requests kept the SLO, if it may be believed."""

    value: float
    num_met: int
    num_requests: int
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """Where a search stands: the value to measure next, or None and why it ends."""

    value: float | None
    why: str
    low: float | None
    """The highest value that holds below every one that misses."""
    high: float | None
    """The lowest value that misses."""
    closed: bool = False
    """Whether it ended as it should: low and high are as near as was asked."""


def next_value(search: SearchParams, tried: Sequence[Tried], *, whole: bool = False) -> Step:
    """Return the next value of a search, or that it ends, with the reason in words.

    low and high come first. If both are as they should be, the middle of the highest value that
    holds and the lowest that misses follows, by ratio (the geometric mean, to 3 digits; `whole`
    asks for whole numbers). A value holds where `share` of the requests of all its repeats kept
    the SLO. One whose every measurement was INVALID says nothing: it is measured once more, then
    the search ends.
    """
    pooled = {value: _pool(value, tried) for value in dict.fromkeys(one.value for one in tried)}
    holding = [value for value, share in pooled.items() if share is not None]
    missing = [value for value in holding if not _holds(pooled[value], search)]
    high = min(missing, default=None)
    below = [v for v in holding if v not in missing and (high is None or v < high)]
    low = max(below, default=None)
    for value in (search.low, search.high, *pooled):
        attempts = sum(one.value == value for one in tried)
        if attempts == 0:
            return Step(value, f"{value:g} was not measured yet", low, high)
        if pooled[value] is not None:
            if value == search.low and not _holds(pooled[value], search):
                return Step(None, f"{_tell(pooled[value], search)} already at {value:g}, the "
                            "lowest; search from a lower one", low, high)  # fmt: skip
            continue
        if attempts < MAX_ATTEMPTS:
            return Step(value, f"{value:g} is measured once more: it was INVALID", low, high)
        return Step(None, f"every measurement at {value:g} was INVALID, so whether it holds is "
                    "not known", low, high)  # fmt: skip
    if low is None or high is None:
        told = _tell(pooled[search.high], search)
        return Step(None, f"{told} even at {search.high:g}, the highest; search up to a higher "
                    "one", low, high)  # fmt: skip
    return _bisect(search, low, high, len(pooled) - 2, whole)


def read_tried(rows: Sequence[Mapping[str, Any]]) -> list[Tried]:
    """Return what rows of the summary, all of one sweep, say to a search."""
    return [
        Tried(
            value=row["value"],
            num_met=row["num_slo_met"] or 0,
            num_requests=row["num_requests"],
            usable=is_usable(row) and row["num_slo_met"] is not None,
        )
        for row in rows
    ]


def _bisect(search: SearchParams, low: float, high: float, steps: int, whole: bool) -> Step:
    width = high / low - 1
    apart = f"{words.percent(width)} apart"
    if width <= search.tolerance * (1 + 1e-9):
        return Step(None, f"{low:g} and {high:g} are {apart}", low, high, closed=True)
    if whole and high - low <= 1:
        return Step(None, f"no whole number lies between {low:g} and {high:g}", low, high,
                    closed=True)  # fmt: skip
    if steps >= search.steps:
        return Step(None, f"{words.count(steps, 'step')} were made, and {low:g} and {high:g} are "
                    f"still {apart}", low, high)  # fmt: skip
    middle = math.sqrt(low * high)
    value = min(max(round(middle), low + 1), high - 1) if whole else float(f"{middle:.3g}")
    if not low < value < high:
        value = middle
    return Step(value, f"{value:g} lies between {low:g}, which holds, and {high:g}, which misses",
                low, high)  # fmt: skip


def _pool(value: float, tried: Sequence[Tried]) -> float | None:
    """Return the share of requests that kept the SLO over the usable measurements of a value."""
    own = [one for one in tried if one.value == value and one.usable and one.num_requests]
    total = sum(one.num_requests for one in own)
    return sum(one.num_met for one in own) / total if total else None


def _holds(share: float | None, search: SearchParams) -> bool:
    return share is not None and share >= search.share - 1e-12


def _tell(share: float | None, search: SearchParams) -> str:
    asked = f"{words.percent(search.share)} are asked"
    return f"{words.percent(share or 0.0)} of the requests keep the SLO ({asked})"
