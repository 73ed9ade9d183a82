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
    all rows of one variable. A rule that `explains_invalid` also reads INVALID points.
    """

    name: str
    title: str
    rank: int
    figure: str
    next_step: str
    check: Callable[[Row], Match | None] | None = None
    check_sweep: Callable[[Sequence[Row]], Match | None] | None = None
    explains_invalid: bool = False


def cite(row: Row, name: str, text: str) -> Evidence:
    """Return the evidence of one field of a row."""
    return Evidence(text, name, read(row, name))


def find_knob(row: Row, name: str) -> Any:
    """Return a setting as it is in force, or as it was asked where the engine does not tell it."""
    told = (row.get("effective") or {}).get(name)
    return (row.get("asked") or {}).get(name) if told is None else told
