"""Which value serves the most requests within the SLO, in sentences with numbers.

A share of a few requests is uncertain by itself: a value wins only where the repeats resolve it
and the Wilson intervals of what was counted part. It must not judge a point.
"""

from collections.abc import Sequence

from labkit.analysis import words
from labkit.analysis.effects import LATENCIES
from labkit.analysis.finding import Finding
from labkit.analysis.pool import Group, contrast, in_order, rank, tell_verdict
from labkit.analysis.statistics import Interval, wilson_interval

GOODPUT = "goodput_per_s"


def goodput(pooled: Sequence[Group]) -> list[Finding]:
    """Say which value serves the most requests within the SLO; nothing where there is no SLO."""
    ranked = rank(pooled, GOODPUT, highest=True)
    if not ranked:
        return []
    best, variable = ranked[0], ranked[0].variable
    limits = best.rows[0].get("slo") or {}
    told = words.join(
        [
            f"{LATENCIES[name]} up to {words.seconds(limit)}"
            for name, limit in limits.items()
            if name in LATENCIES
        ]
    )
    rate = best.mean(GOODPUT) or 0.0
    if rate == 0:
        text = f"No request at any value met the SLO ({told}). {tell_verdict(ranked)}"
        return [Finding("The SLO is never met", text, "warning", variable)]
    text = f"{best.name} serves {words.per_second(rate, 'requests')} within the SLO ({told})"
    text += f"{_share(best)}."
    tied = [one for one in ranked[1:] if not beats(best, one)]
    if tied and len(tied) == len(ranked) - 1:
        title = f"Goodput: no resolved effect of {words.short(variable)}"
        text += f" Not resolved: the other values can't be told apart. {tell_verdict(ranked)}"
        return [Finding(title, text, "unknown", variable)]
    if tied:
        names = words.join([one.label for one in in_order(tied)])
        text += f" {names} can't be told apart from it."
    text += f" {tell_verdict([best, *tied])}"
    title = f"{best.name} {'meets' if len(ranked) == 1 else 'best meets'} the SLO"
    if len(ranked) == 1:
        title = f"Goodput of {best.name}"
    return [Finding(title, text, "result", variable)]


def beats(best: Group, other: Group) -> bool:
    """Tell whether a goodput is resolved between runs and its count parts from the other's."""
    if not contrast(best, other, GOODPUT).resolved:
        return False
    above, below = _bounds(best), _bounds(other)
    return above is None or below is None or above[0] > below[1]


def count_met(group: Group) -> tuple[int, int] | None:
    """Return (requests within the SLO, all requests) over repeats, None where it is not told."""
    met, total = group.numbers("num_slo_met"), group.numbers("num_requests")
    return (int(sum(met)), int(sum(total))) if met and len(met) == len(total) else None


def _interval(group: Group) -> Interval | None:
    counted = count_met(group)
    return wilson_interval(*counted) if counted else None


def _bounds(group: Group) -> tuple[float, float] | None:
    """Return the interval of the share, times the requests that ended a second."""
    interval, spans = _interval(group), group.numbers("duration_s")
    if interval is None or not sum(spans):
        return None
    rate = interval.n / sum(spans)
    return interval.low * rate, interval.high * rate


def _share(group: Group) -> str:
    share, counted, interval = group.mean("slo_attainment"), count_met(group), _interval(group)
    if share is None:
        return ""
    text = f", {words.percent(share)} of all requests"
    if counted and interval:
        text += f" ({counted[0]} of {counted[1]}, 95 % interval {words.percent(interval.low)} to "
        text += f"{words.percent(interval.high)})"
    return text
