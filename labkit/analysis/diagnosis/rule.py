"""What a rule of the diagnosis is, and what it finds.

It must not know any single rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from labkit.analysis.row import read

Row = Mapping[str, Any]
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that carries a diagnosis; `field` is its name in the row, with its part."""

    text: str
    field: str
    value: float | int | None


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule found; `points` are told by a rule over a sweep only."""

    cause: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    points: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault: how it is recognised, where to look, and what to do.

    `rank` orders causes, the root before what it brings about. `check` reads one row, `check_sweep`
    all rows of one variable. A rule that `explains_invalid` also reads INVALID points. `blames` is
    the switch that is turned on to cure what `check` finds; an arm that has it off is a control. A
    number is not such a setting: which of its values are too small is what its sweep asks.
    """

    name: str
    title: str
    rank: int
    figure: str
    next_step: str
    check: Callable[[Row], Match | None] | None = None
    check_sweep: Callable[[Sequence[Row]], Match | None] | None = None
    explains_invalid: bool = False
    blames: str | None = None


def cite(row: Row, name: str, text: str) -> Evidence:
    """Return the evidence of one field of a row."""
    return Evidence(text, name, read(row, name))


def find_knob(row: Row, name: str) -> Any:
    """Return a setting as it is in force, or as it was asked where the engine does not tell it."""
    told = (row.get("effective") or {}).get(name)
    return (row.get("asked") or {}).get(name) if told is None else told


def is_control(row: Row, switch: str, points: Sequence[Row]) -> bool:
    """Tell whether a point has a switch off on purpose: the run has another point with it on.

    Where nobody asked for either, nothing was switched; another kind of engine is another thing.
    """
    if find_knob(row, switch) is not False:
        return False
    asked = row.get("asked") or {}
    return any(
        find_knob(other, switch) is True
        and (told := other.get("asked") or {}).get("kind") == asked.get("kind")
        and (asked.get(switch) is False or told.get(switch) is True)
        for other in points
    )
