"""How much traffic at the SLO, where is the knee, what do tasks of several calls do to the tail?

It words what capacity.py and tasks.py find, and claims no more than the counted requests resolve.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words
from labkit.analysis.capacity import Capacity, Served, find_capacities
from labkit.analysis.effects import LATENCIES
from labkit.analysis.finding import Effect, Evidence, Finding, Kind
from labkit.analysis.goodput import GOODPUT, beats
from labkit.analysis.pool import list_points, tell_verdict
from labkit.analysis.questions.agent_tasks import tell_tasks
from labkit.analysis.questions.load_curve import knee, misses, tail, tell_clock
from labkit.analysis.tasks import find_tasks

MIN_SPAN = 10.0
"""Median latencies that a load must last for a queue to show."""


def conclude(summary: Mapping[str, Any]) -> list[Finding]:
    """Return what the sweeps of the load say of the SLO, then what tasks of k calls add."""
    found: list[Finding] = []
    for capacity in find_capacities(summary):
        found += _limit(capacity)
        if capacity.served:
            found += [
                *_sharpness(capacity),
                *_goodput(capacity),
                knee(capacity),
                *misses(capacity),
                *tail(capacity),
            ]
    for series, tasks in find_tasks(summary).items():
        found += tell_tasks(tasks, series)
    return found


def tell_slo(limits: Mapping[str, float | None]) -> str:
    """Return "TTFT up to 1 s and TPOT up to 100 ms"."""
    known = [(name, limit) for name in LATENCIES if (limit := limits.get(name)) is not None]
    return words.join([f"{LATENCIES[name]} up to {words.seconds(limit)}" for name, limit in known])


def _limit(capacity: Capacity) -> list[Finding]:
    """Say up to which value the SLO holds, and how sure the bracket is."""
    variable, step, served = capacity.variable, capacity.step, capacity.served
    if not served:
        text = "No valid point counted requests against the SLO; the warnings name the causes."
        return [Finding("Can't tell how much traffic keeps the SLO", text, "unknown", variable,
                        capacity.series, "can't tell")]  # fmt: skip
    limits = served[0].group.rows[0].get("slo") or {}
    asked = f"{words.percent(capacity.share)} of the requests must keep the SLO "
    asked += f"({tell_slo(limits)})"
    best, miss = capacity.best, capacity.first_miss
    told = [f"{_count(one, variable)} do" for one in (best, miss) if one is not None]
    text = f"{asked}; {', '.join(told)}."
    groups = [one.group for one in (best, miss) if one is not None]
    kind: Kind = "result"
    if best is None:
        lowest = words.place(variable, served[0].group.value)
        title, kind = f"The SLO is missed already at {lowest}", "warning"
    else:
        place = words.place(variable, best.group.value)
        least = "" if miss is not None else " at least"
        title = f"The SLO holds up to {place}{least}"
    if step.value is not None:
        text += f" The search is not at its end: {step.why}."
    elif step.why:
        text += f" The search ended as {step.why}."
    text += f"{tell_clock(groups)} {tell_verdict(groups)}"
    effect = None
    if best is not None:
        low, high = float(best.group.value), None if miss is None else float(miss.group.value)
        effect = Effect(variable, "value", low, low, high, best.num_requests)
    evidence = tuple(
        Evidence("slo_attainment", words.place(variable, one.group.value), one.share)
        for one in served
    )
    points = tuple(point for one in served for point in one.group.points)
    return [Finding(title, text, kind, variable, capacity.series, None, effect, evidence, points)]


def _count(one: Served, variable: str) -> str:
    low, high = words.percent(one.interval.low), words.percent(one.interval.high)
    return (
        f"at {words.place(variable, one.group.value)} {one.num_met} of {one.num_requests} "
        f"({words.percent(one.share)}, 95 % interval {low} to {high})"
    )


def _sharpness(capacity: Capacity) -> list[Finding]:
    """Say where the limit may lie as well: few requests, or a load that ended early."""
    best, step, variable = capacity.best, capacity.step, capacity.variable
    if best is None:
        return []
    sure = [one.group.value for one in capacity.served if one.interval.low >= capacity.share]
    lost = [one.group.value for one in capacity.served if one.interval.high < capacity.share]
    lowest = min(lost, default=None)
    held = max((one for one in sure if lowest is None or one < lowest), default=None)
    sentences = []
    if (held, lowest) != (step.low, step.high):
        told = "holds nowhere" if held is None else f"holds at {words.place(variable, held)}"
        told += " and is missed "
        told += "nowhere" if lowest is None else f"from {words.place(variable, lowest)} on"
        sentences.append(
            f"Beyond the chance of {best.num_requests} requests (95 %) the SLO {told}."
        )
    sentences += _tell_span(best, capacity.latency)
    if not sentences:
        return []
    sentences.append("More num_requests, or a longer search.duration_s, narrow that.")
    title = f"{words.count(best.num_requests, 'request')} leave the limit open"
    text = f"{' '.join(sentences)} {tell_verdict([one.group for one in capacity.served])}"
    points = tuple(point for one in capacity.served for point in one.group.points)
    return [Finding(title, text, "unknown", variable, capacity.series, points=points)]


def _tell_span(one: Served, latency: str) -> list[str]:
    """Return that a load ended before a queue could grow, where it was that short."""
    rate, median = one.group.mean("offered_rate_per_s"), one.group.mean(f"{latency}.p50")
    if not rate or median is None:
        return []
    span_s = (one.num_requests / len(one.group.rows) - 1) / rate
    if span_s >= MIN_SPAN * median:
        return []
    return [
        f"Requests came for {words.seconds(span_s)} and a median one took {words.seconds(median)}: "
        "a queue had little time to grow."
    ]


def _goodput(capacity: Capacity) -> list[Finding]:
    """Say what goodput the highest value that holds gives, against the highest of all."""
    best, peak, variable = capacity.best, capacity.peak, capacity.variable
    if best is None or peak is None or (most := peak.mean(GOODPUT)) is None:
        return []
    here = best.group.mean(GOODPUT) or 0.0
    place, top = (words.place(variable, one.value) for one in (best.group, peak))
    text = f"At {place}, the most that keeps the SLO, {words.per_second(here, 'good requests')} "
    share = next(one.share for one in capacity.served if one.group is peak)
    groups = [best.group] if peak is best.group else [best.group, peak]
    tied = [one.group for one in capacity.served if not beats(best.group, one.group)]
    tied = [one for one in tied if one is not best.group]
    if peak is best.group and not tied:
        title = f"Goodput is {words.per_second(most, 'requests')} at {place}, the highest of all"
        text += "are served, more than at any other value."
    elif peak is best.group:
        title = f"Goodput is {words.per_second(most, 'requests')} at {place}, none is higher"
        names = words.join([words.place(variable, one.value) for one in tied])
        text += f"are served, the most of all; {names} can't be told apart."
    elif beats(peak, best.group):
        title = f"Goodput peaks at {top}, where {words.percent(share)} keep the SLO"
        text += f"are served; the most are {words.per_second(most, 'requests')} at {top}, where "
        text += f"only {words.percent(share)} of the requests keep the SLO."
    else:
        title = f"Goodput is {words.per_second(here, 'requests')} at {place}, no other is resolved "
        title += "above it"
        text += f"are served; {words.per_second(most, 'requests')} at {top} can't be told apart."
    text += " Goodput is over the whole point, until its last answer."
    effect = None if not here else Effect(GOODPUT, "ratio", most / here, n=len(best.group.rows))
    evidence = tuple(
        Evidence(GOODPUT, words.place(variable, one.value), one.mean(GOODPUT) or 0.0)
        for one in groups
    )
    points = list_points(groups)
    return [Finding(title, f"{text} {tell_verdict(groups)}", "result", variable, capacity.series,
                    None, effect, evidence, points)]  # fmt: skip
