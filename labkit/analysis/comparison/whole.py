"""Two runs compared, all of it: lines, what was left out, what else differs.

It puts the parts together and computes nothing of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.differences import find_differences, list_things
from labkit.analysis.comparison.gate import Outcome, judge_gate
from labkit.analysis.comparison.lines import (
    SMALLEST_EFFECT,
    FindNoise,
    Line,
    Omitted,
    compare_places,
)
from labkit.analysis.comparison.places import Place, join, list_alone
from labkit.analysis.comparison.telling import tell_effect, tell_verdict
from labkit.analysis.comparison.told import Told

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of run B with run A."""

    a: Told
    b: Told
    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    omitted: tuple[Omitted, ...]
    alone: tuple[str, ...]
    """Settings that only one of the two has, in words."""
    differences: tuple[Difference, ...]
    effect: float
    """The smallest effect that matters, as a share."""

    @property
    def things(self) -> list[str]:
        """What differs, each thing once; a comparison tells what one thing does."""
        return list_things(self.differences)

    @property
    def tested(self) -> int:
        """How many lines the correction is for."""
        return sum(line.p_adjusted is not None for line in self.lines)


def compare_runs(
    a: Told,
    b: Told,
    find_noise: FindNoise = lambda place, field: None,
    *,
    effect: float = SMALLEST_EFFECT,
) -> Compared:
    """Return how run B differs from run A at all places that they share."""
    places = join(a.summary, b.summary)
    lines, omitted = compare_places(places, find_noise, effect=effect)
    joined_alone = places and places[0].value_a != places[0].value_b
    alone = [] if joined_alone else list_alone(a.summary, b.summary)
    return Compared(
        a,
        b,
        tuple(places),
        tuple(lines),
        tuple(omitted),
        tuple(alone),
        tuple(find_differences(a, b, places)),
        effect,
    )


def write_document(found: Compared, gate: Sequence[Outcome] | None = None) -> dict[str, Any]:
    """Return a comparison as a strict JSON document."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "a": found.a.name,
        "b": found.b.name,
        "things": found.things,
        "differences": [asdict(one) for one in found.differences],
        "smallest_effect": found.effect,
        "num_tested": found.tested,
        "lines": [_line(line) for line in found.lines],
        "omitted": [
            {**_place(one.place), "field": one.metric.field, "reason": one.reason}
            for one in found.omitted
        ],
        "left_out": [name for place in found.places for name in place.left_out],
        "alone": list(found.alone),
    }
    if gate is not None:
        outcomes = [
            {"field": one.threshold.field, "share": one.threshold.share,
             "place": one.place, "state": one.state, "told": one.told}
            for one in gate
        ]  # fmt: skip
        document["gate"] = {"state": judge_gate(gate), "outcomes": outcomes}
    return document


def _place(place: Place) -> dict[str, Any]:
    told: Mapping[str, Any] = {
        "series": place.series,
        "variable": place.variable,
        "value": place.value_a,
        "value_b": place.value_b,
    }
    return dict(told)


def _line(line: Line) -> dict[str, Any]:
    return {
        **_place(line.place),
        "field": line.metric.field,
        "label": line.metric.label,
        "better": line.metric.better,
        "values_a": list(line.values_a),
        "values_b": list(line.values_b),
        "mean_a": line.mean_a,
        "mean_b": line.mean_b,
        "measure": line.found.measure,
        "effect": line.found.value,
        "low": line.found.low,
        "high": line.found.high,
        "method": line.found.method,
        "p_value": line.found.p_value,
        "p_adjusted": line.p_adjusted,
        "verdict": line.verdict,
        "effect_told": tell_effect(line),
        "verdict_told": tell_verdict(line),
        "detectable": line.detectable,
        "repeats_needed": line.repeats_needed,
        "suspect": line.place.doubted,
    }
