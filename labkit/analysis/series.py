"""Samples over time to gauges and counter deltas inside a load window.

It knows (stamp, value) pairs on one monotonic clock and nothing about what they measure.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

Pairs = Sequence[tuple[float, float]]


def finite(value: Any) -> float | None:
    """Return the value as a float, or None where it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def pairs(samples: Iterable[dict[str, Any]], field: str) -> list[tuple[float, float]]:
    """Return (at_s, value) of the samples that tell the field, in the order of their stamps."""
    found = []
    for sample in samples:
        at_s, value = finite(sample.get("at_s")), finite(sample.get(field))
        if at_s is not None and value is not None:
            found.append((at_s, value))
    return sorted(found)


def gauge(series: Pairs, start_s: float, end_s: float) -> dict[str, Any] | None:
    """Return {"mean", "max", "n"} of the samples inside the window; None if there is none.

    The mean is weighted by time: a sample stands for every moment that is nearer to it than to
    another sample, out to the ends of the window.
    """
    inside = [(at, value) for at, value in series if start_s <= at <= end_s]
    if not inside:
        return None
    values = [value for _, value in inside]
    edges = [start_s]
    edges += [(a[0] + b[0]) / 2 for a, b in pairwise(inside)]
    edges.append(end_s)
    width = end_s - start_s
    if width > 0:
        spans = [right - left for left, right in pairwise(edges)]
        mean = math.fsum(v * span for v, span in zip(values, spans, strict=True)) / width
    else:
        mean = math.fsum(values) / len(values)
    return {"mean": min(max(mean, min(values)), max(values)), "max": max(values), "n": len(values)}


def increase(series: Pairs, start_s: float, end_s: float) -> tuple[float, int] | None:
    """Return (how much a counter grew over the window, resets seen); None below two samples.

    The samples are those inside the window with the last before it and the first after it, so that
    nothing at its ends is lost. A counter that goes back was reset to 0 and counts from there.
    """
    before = [value for at, value in series if at < start_s][-1:]
    after = [value for at, value in series if at > end_s][:1]
    values = before + [value for at, value in series if start_s <= at <= end_s] + after
    if len(values) < 2:
        return None
    total, resets = 0.0, 0
    for old, new in pairwise(values):
        if new >= old:
            total += new - old
        else:
            total += new
            resets += 1
    return total, resets


def combine(gauges: Sequence[dict[str, Any]], *, add: bool) -> dict[str, Any] | None:
    """Return one gauge for several devices: means and maxima added, or averaged and the highest.

    An added maximum is an upper bound, since the devices need not peak at the same moment.
    """
    if not gauges:
        return None
    mean = math.fsum(gauge["mean"] for gauge in gauges)
    highest = [gauge["max"] for gauge in gauges]
    return {
        "mean": mean if add else mean / len(gauges),
        "max": math.fsum(highest) if add else max(highest),
        "n": min(gauge["n"] for gauge in gauges),
    }
