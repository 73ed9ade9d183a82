"""Every metric at every place that two runs share: effect, interval, test, correction, verdict.

It reads rows of two summaries and stored noise, and nothing else. It must not know files.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labkit.analysis.comparison.contrast import Contrast, contrast
from labkit.analysis.comparison.correction import ALPHA, adjust
from labkit.analysis.comparison.metric import METRICS, Metric, take
from labkit.analysis.comparison.places import Place
from labkit.analysis.comparison.power import count_repeats, find_detectable
from labkit.analysis.comparison.scatter import Scatter

Verdict = Literal["better", "worse", "differs", "no difference seen", "can't tell"]
SMALLEST_EFFECT = 0.05
"""The effect, as a share, that a comparison is asked to see unless another is asked."""

FindNoise = Callable[[Place, str], Scatter | None]
"""The stored noise of a field at a place, None where nobody measured it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric at one place."""

    place: Place
    metric: Metric
    values_a: tuple[float, ...]
    values_b: tuple[float, ...]
    found: Contrast
    p_adjusted: float | None = None
    """Holm's, over all lines of the comparison that could be tested."""
    verdict: Verdict = "can't tell"
    detectable: float | None = None
    """The smallest effect, as a share, that would have been found four times in five."""
    repeats_needed: int | None = None
    """Of each run, to find the smallest effect asked four times in five; None where unknown."""

    @property
    def mean_a(self) -> float:
        """The mean over the repeats of A, the geometric one where a ratio is told."""
        return _mean(self.values_a, self.found.measure)

    @property
    def mean_b(self) -> float:
        """The mean over the repeats of B, as that of A."""
        return _mean(self.values_b, self.found.measure)


@dataclass(frozen=True, slots=True)
class Omitted:
    """A metric that could not be compared at a place, and why."""

    place: Place
    metric: Metric
    reason: str


def compare_places(
    places: Sequence[Place],
    find_noise: FindNoise = lambda place, field: None,
    *,
    effect: float = SMALLEST_EFFECT,
    metrics: Sequence[Metric] = METRICS,
) -> tuple[list[Line], list[Omitted]]:
    """Return a line for each metric that both runs measured at a place, and what was left out.

    `effect` is the smallest that matters, as a share: "no difference seen" is said only where it
    would have been found four times in five.
    """
    lines: list[Line] = []
    omitted: list[Omitted] = []
    for place in places:
        for plain in metrics:
            metric = plain.among([*place.rows_a, *place.rows_b])
            line = _measure(place, metric, find_noise)
            if isinstance(line, Line):
                lines.append(line)
            else:
                omitted.append(line)
    return judge(lines, effect), omitted


def judge(lines: Sequence[Line], effect: float = SMALLEST_EFFECT) -> list[Line]:
    """Return the lines with their verdicts, corrected for all of them together."""
    tested = [place for place, line in enumerate(lines) if _is_tested(line)]
    p_values = [line.found.p_value for line in lines]
    adjusted = dict(zip(tested, adjust([p_values[place] or 0.0 for place in tested]), strict=True))
    strictest = ALPHA / max(1, len(tested))
    return [
        _judge(line, adjusted.get(place), strictest, effect) for place, line in enumerate(lines)
    ]


def _measure(place: Place, metric: Metric, find_noise: FindNoise) -> Line | Omitted:
    for name, rows in (("A", place.rows_a), ("B", place.rows_b)):
        if not rows:
            return Omitted(place, metric, f"no usable repeat in {name}")
    taken = [take(rows, metric.field) for rows in (place.rows_a, place.rows_b)]
    for name, (_, reason) in zip("AB", taken, strict=True):
        if reason is not None:
            return Omitted(place, metric, f"in {name}: {reason}")
    (a, _), (b, _) = taken
    found = contrast(a, b, paired=place.paired, noise=find_noise(place, metric.field))
    return Line(place, metric, tuple(a), tuple(b), found)


def _is_tested(line: Line) -> bool:
    """Tell whether a line belongs to the family: what is equal in every repeat tests nothing."""
    alike = len({*line.values_a, *line.values_b}) == 1
    return line.found.p_value is not None and not alike


def _judge(line: Line, p_adjusted: float | None, strictest: float, effect: float) -> Line:
    found = line.found
    if p_adjusted is not None and p_adjusted < ALPHA:
        return replace(line, p_adjusted=p_adjusted, verdict=_name(line))
    if len({*line.values_a, *line.values_b}) == 1 and min(found.n_a, found.n_b) > 1:
        return replace(line, verdict="no difference seen", detectable=0.0)
    if found.error is None or found.degrees is None or found.deviation is None:
        return replace(line, p_adjusted=p_adjusted)
    detectable = _as_share(line, find_detectable(found.error, found.degrees, strictest))
    wanted = math.log1p(effect) if found.measure == "ratio" else effect * abs(line.mean_a)
    needed = None
    if wanted > 0:
        needed = count_repeats(found.deviation, wanted, strictest, paired=found.paired)
    seen = detectable is not None and detectable <= effect
    return replace(
        line,
        p_adjusted=p_adjusted,
        verdict="no difference seen" if seen else "can't tell",
        detectable=detectable,
        repeats_needed=needed,
    )


def _mean(values: Sequence[float], measure: str) -> float:
    if measure == "ratio":
        return math.exp(math.fsum(map(math.log, values)) / len(values))
    return math.fsum(values) / len(values)


def _name(line: Line) -> Verdict:
    if line.metric.better == "neither":
        return "differs"
    grown = line.found.estimate > 0
    return "better" if grown == (line.metric.better == "higher") else "worse"


def _as_share(line: Line, size: float) -> float | None:
    if line.found.measure == "ratio":
        return math.expm1(size) if size < 700 else None
    return size / abs(line.mean_a) if line.mean_a and math.isfinite(size) else None


def count_verdicts(lines: Iterable[Line]) -> dict[str, int]:
    """Return how many lines have each verdict, all five named."""
    names: tuple[Verdict, ...] = ("better", "worse", "differs", "no difference seen", "can't tell")
    told = [line.verdict for line in lines]
    return {name: told.count(name) for name in names}
