"""Thresholds that B must keep against A, for a build that fails where it does not.

A gate fails only beyond doubt: where the whole of chance, corrected for all gates together, lies
past the threshold. It holds where chance, one-sided at 5 %, lies within it. Between the two nothing
can be told, nor where a repeat is SUSPECT. It must not know where a threshold was written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labkit.analysis import words
from labkit.analysis.comparison.contrast import probability_beyond
from labkit.analysis.comparison.correction import ALPHA, adjust
from labkit.analysis.comparison.lines import Line, Omitted
from labkit.analysis.comparison.metric import FIELDS, find_metric
from labkit.errors import ParamsError
from labkit.params import name_nearest

State = Literal["held", "failed", "can't tell"]
_FORM = re.compile(r"^([+-])\s*(\d+(?:\.\d+)?)\s*%$")


@dataclass(frozen=True, slots=True)
class Threshold:
    """By which share of A a metric may change, and in which direction it then counts as worse."""

    field: str
    share: float
    """Signed: -0.05 stands for at most 5 % less."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One threshold at one place."""

    threshold: Threshold
    place: str
    state: State
    told: str


def read_threshold(field: str, text: Any) -> Threshold:
    """Return a threshold from `output_throughput_tokens_per_s` and `-5%`.

    Raises ParamsError for an unknown metric, another form, or a sign that stands for better.
    """
    metric = find_metric(field)
    if metric is None:
        raise ParamsError(
            f"--gate {field} is not a metric that is compared{name_nearest(field, FIELDS)}"
        )
    found = _FORM.match(str(text).strip())
    if found is None:
        raise ParamsError(
            f"expected --gate {field} with a sign and a percentage such as -5% or +10%, "
            f"found {text!r}"
        )
    share = float(found[1] + found[2]) / 100
    wrong = {"higher": "+", "lower": "-"}.get(metric.better)
    if found[1] == wrong or share <= -1:
        right = "+10%" if wrong == "-" else "-5%"
        raise ParamsError(
            f"expected the worst change allowed of {field}, whose {metric.better} values are "
            f"better, such as {right}; found {text!r}"
        )
    return Threshold(metric.field, share)


def read_thresholds(given: Mapping[str, Any]) -> list[Threshold]:
    """Return the thresholds of a mapping {metric: percentage}. Raises ParamsError."""
    return [read_threshold(str(field), text) for field, text in given.items()]


def hold_against(
    thresholds: Sequence[Threshold], lines: Sequence[Line], omitted: Sequence[Omitted]
) -> list[Outcome]:
    """Return what became of every threshold at every place that the two runs share."""
    tried = [
        (threshold, line)
        for threshold in thresholds
        for line in lines
        if find_metric(line.metric.field) == find_metric(threshold.field)
    ]
    beyond = adjust([_probability(threshold, line, worse=True) for threshold, line in tried])
    found = [
        _decide(threshold, line, p_value)
        for (threshold, line), p_value in zip(tried, beyond, strict=True)
    ]
    for threshold in thresholds:
        for one in omitted:
            if find_metric(one.metric.field) == find_metric(threshold.field):
                found.append(Outcome(threshold, one.place.name, "can't tell", one.reason))
    return found


def judge_gate(found: Sequence[Outcome]) -> State:
    """Return what became of the gate as a whole; without any outcome nothing can be told."""
    states = {one.state for one in found}
    if "failed" in states:
        return "failed"
    return "held" if states == {"held"} else "can't tell"


def _probability(threshold: Threshold, line: Line, *, worse: bool) -> float:
    limit = _limit(threshold, line)
    if limit is None:
        return 1.0
    side: Literal["above", "below"] = "below" if (threshold.share < 0) == worse else "above"
    return probability_beyond(line.found, limit, side)


def _limit(threshold: Threshold, line: Line) -> float | None:
    """Return the threshold as a ratio or a difference; None as a share of nothing."""
    if line.found.measure == "ratio":
        return 1 + threshold.share
    return threshold.share * line.mean_a if line.mean_a > 0 else None


def _decide(threshold: Threshold, line: Line, p_beyond: float) -> Outcome:
    place = line.place.name
    if line.place.doubted:
        return Outcome(threshold, place, "can't tell", f"{_tell(line)}; repeats are SUSPECT")
    if p_beyond < ALPHA:
        return Outcome(threshold, place, "failed", _tell(line))
    if len({*line.values_a, *line.values_b}) == 1 and min(line.found.n_a, line.found.n_b) > 1:
        return Outcome(threshold, place, "held", "the same in every repeat")
    if _probability(threshold, line, worse=False) < ALPHA:
        return Outcome(threshold, place, "held", _tell(line))
    why = "" if line.found.error is not None else "; too few repeats and no stored noise"
    return Outcome(threshold, place, "can't tell", _tell(line) + why)


def _tell(line: Line) -> str:
    found = line.found
    if found.measure == "difference":
        return f"{line.metric.show(line.mean_a)} to {line.metric.show(line.mean_b)}"
    change = words.number(abs(found.value - 1) * 100)
    told = f"{'-' if found.value < 1 else '+'}{change} %"
    if found.low is not None and found.high is not None:
        low, high = (words.number((edge - 1) * 100) for edge in (found.low, found.high))
        told += f" (95 % interval {low} to {high} %)"
    return told
