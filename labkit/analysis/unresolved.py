"""Why a difference is not resolved, in words: none was seen, it is small, or this run can't tell.

Can't tell is not the same as no difference. It must not know what is compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labkit.analysis import words
from labkit.analysis.pool import Group, contrast
from labkit.analysis.statistics import SINGLE_RUN_RESOLUTION, Comparison

MAX_NARROW = SINGLE_RUN_RESOLUTION
"""An interval that stays this near to 0, as a share of the larger mean, tells of no difference."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """What is known instead of a difference: `told` stands in a title, `why` behind it."""

    kind: Literal["same", "small", "unknown"]
    told: str
    why: str

    @property
    def full(self) -> str:
        """Both: "no difference seen, within ±3 %", "can't tell (two repeats can't: …)"."""
        return f"{self.told} ({self.why})" if self.kind == "unknown" else f"{self.told}, {self.why}"


def explain(found: Comparison) -> Unresolved:
    """Return what a comparison that is not resolved does tell."""
    if found.interval is None:
        if found.resolution > SINGLE_RUN_RESOLUTION:
            why = f"equal settings differ by {words.percent(found.resolution)} in this run"
            return Unresolved("unknown", "can't tell", why)
        why = f"under {words.percent(found.resolution)}"
        return Unresolved("small", "no resolved difference", why)
    larger = max(abs(found.mean_a), abs(found.mean_b))
    widest = max(abs(found.interval.low), abs(found.interval.high))
    share = widest / larger if larger else 0.0
    if share <= MAX_NARROW:
        return Unresolved("same", "no difference seen", f"within ±{words.percent(share)}")
    if found.interval.n < 3:
        return Unresolved("unknown", "can't tell", "two repeats can't: at least 3 are needed")
    return Unresolved("unknown", "can't tell", "the repeats scatter too much")


def explain_all(ranked: Sequence[Group], field: str) -> Unresolved:
    """Return what is known where none can be told from the first: of all pairs, the least."""
    told = [explain(contrast(ranked[0], one, field)) for one in ranked[1:]]
    order = ("unknown", "small", "same")
    least = min(order.index(one.kind) for one in told)
    own = [one for one in told if one.kind == order[least]]
    if own[0].kind == "same":
        shares = [contrast(ranked[0], one, field) for one in ranked[1:]]
        widest = max(shares, key=_width)
        return explain(widest)
    return own[0]


def _width(found: Comparison) -> float:
    larger = max(abs(found.mean_a), abs(found.mean_b))
    edges = (found.interval.low, found.interval.high) if found.interval else (0.0, 0.0)
    return max(map(abs, edges)) / larger if larger else 0.0
