"""Where latency leaves its plateau: between which loads it comes to twice that of no load.

The definition is from queueing theory. Kleinrock (1979, "Power and deterministic rules of thumb for
probabilistic problems in computer communications") calls throughput / latency the power of a
system, and Jain (1991, "The Art of Computer Systems Performance Analysis") the load at which it
peaks the knee. For M/M/1, where every percentile of latency is proportional to 1 / (mu - lambda),
power peaks at half the capacity, where latency is twice that of an empty system. This multiple is
taken here, not the peak itself: it needs no model, and two measurements bracket it. Kneedle
(Satopaa et al. 2011) is not taken: it asks for a dense curve and names a knee in any of them.

It knows loads and latencies only, and must not put a finding into words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MULTIPLE = 2.0
MAX_IN_FLIGHT = 1.0
MIN_STEP, MAX_RISE = 1.5, 1.25


@dataclass(frozen=True, slots=True)
class Load:
    """One value that was measured: its latency in s, and the requests in flight on average."""

    value: float
    latency_s: float
    in_flight: float | None = None


@dataclass(frozen=True, slots=True)
class Knee:
    """A bracket of the knee, or None twice and why it can't be told."""

    low: float | None
    """The highest value up to which all are within twice the unloaded latency."""
    high: float | None
    """The lowest value from which on none is."""
    unloaded_s: float | None
    reason: str = ""


def find_knee(loads: Sequence[Load]) -> Knee:
    """Return between which values latency comes to twice that of the lowest one.

    The lowest one counts as unloaded if at most one request was in flight there on average
    (Little's law: rate * latency), or if some load at least 1.5 times as high has a latency at
    most a quarter longer, which is a plateau. Values between which latency crosses the line more
    than once widen the bracket.
    """
    ordered = sorted(loads, key=lambda one: one.value)
    if len(ordered) < 2:
        return Knee(None, None, None, "it takes two values, one of them unloaded")
    first, *rest = ordered
    base = first.latency_s
    if not _is_unloaded(first, rest):
        held = "an unknown number of" if first.in_flight is None else f"{first.in_flight:.1f}"
        return Knee(None, None, None, f"at the lowest value, {first.value:g}, {held} requests are "
                    "in flight already and latency rises from there on, so that of an unloaded "
                    "engine is not known; measure a lower one")  # fmt: skip
    over = [one.latency_s > MULTIPLE * base for one in ordered]
    if not any(over):
        return Knee(None, None, base, "latency stays within twice the unloaded one up to the "
                    f"highest value, {ordered[-1].value:g}; measure a higher one")  # fmt: skip
    if not over[-1]:
        return Knee(None, None, base, "latency falls back below twice the unloaded one at the "
                    f"highest value, {ordered[-1].value:g}; measure again")  # fmt: skip
    last_under = max(i for i, one in enumerate(over) if not one)
    return Knee(ordered[over.index(True) - 1].value, ordered[last_under + 1].value, base)


def _is_unloaded(first: Load, rest: Sequence[Load]) -> bool:
    if first.in_flight is not None and first.in_flight <= MAX_IN_FLIGHT:
        return True
    return any(
        one.value >= MIN_STEP * first.value and one.latency_s <= MAX_RISE * first.latency_s
        for one in rest
    )
