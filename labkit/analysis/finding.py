"""What is concluded, as data: the claim, its verdict, the effect, and the points it rests on.

Notebook, report and findings.json show the same findings, so words can't drift from numbers. It
must not know how one is found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

SCHEMA = 1

Kind = Literal["result", "cost", "warning", "unknown", "fact"]
Verdict = Literal["held", "not held", "can't tell"]


@dataclass(frozen=True, slots=True)
class Effect:
    """How large: of a field of the summary, in its own unit or as a ratio; None is not known."""

    field: str
    measure: Literal["ratio", "difference", "value"]
    value: float
    low: float | None = None
    """Bounds of the 95 % interval over repeats."""
    high: float | None = None
    n: int | None = None
    """Repeats on the smaller side."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that was used: its field in the summary, and where it was measured."""

    field: str
    place: str
    value: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say on the first screen of a report."""

    title: str
    text: str
    kind: Kind
    variable: str | None = None
    series: str | None = None
    verdict: Verdict | None = None
    """Of a claim that was tested; None where nothing was claimed before."""
    effect: Effect | None = None
    evidence: tuple[Evidence, ...] = ()
    points: tuple[str, ...] = ()
    """The ids of the points that it rests on; no INVALID one is among them."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Return the finding that `asdict` wrote."""
        effect = data.get("effect")
        return cls(
            **{
                **data,
                "effect": None if effect is None else Effect(**effect),
                "evidence": tuple(Evidence(**one) for one in data.get("evidence") or ()),
                "points": tuple(data.get("points") or ()),
            }
        )


def dump(headline: str, findings: Sequence[Finding], run_id: str) -> dict[str, Any]:
    """Return findings.json as a dict."""
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "headline": headline,
        "findings": [asdict(one) for one in findings],
    }
