"""What a run shows, in sentences with numbers: what is best, what it costs, what stays unknown.

It reads a summary and nothing else. It never claims a difference that repeats (or, with one repeat,
the 10 % rule) do not resolve, it names every point that it leaves out, and it puts the verdict
beside the numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.analysis import words
from labkit.analysis.batching import batching
from labkit.analysis.doubts import warn
from labkit.analysis.effects import (
    OUTPUT,
    cost,
    latency,
    single,
    tell_tie,
    throughput,
    times,
)
from labkit.analysis.finding import Finding, Kind
from labkit.analysis.goodput import goodput
from labkit.analysis.limits import resolution
from labkit.analysis.pool import (
    Group,
    arms,
    groups,
    list_points,
    rank,
    take_arm,
    tell_doubt,
    tell_verdict,
    ties,
)
from labkit.analysis.questions import QUESTIONS

__all__ = ["Finding", "conclude", "headline", "tell_run"]

MIN_SLOT_WAIT_S = 0.001
MAX_HEADLINE = 200
"""Characters of a headline: what a phone shows of a title before it is a page of its own."""

Summary = Mapping[str, Any]


def tell_run(summary: Summary) -> tuple[str, list[Finding]]:
    """Return the headline and the findings of a run, its question asked once."""
    answer = _answer(summary)
    return _title(summary, answer), _conclude(summary, answer)


def conclude(summary: Summary) -> list[Finding]:
    """Return the findings of a run: what its notebook asks, or else those of each swept variable
    and arm together; warnings last.
    """
    return _conclude(summary, _answer(summary))


def headline(summary: Summary) -> str:
    """Return the run in one line of at most 200 characters, for the title of a report."""
    return _title(summary, _answer(summary))


def _is_empty(summary: Summary) -> bool:
    return not summary["points"] and not summary.get("ladder")


def _conclude(summary: Summary, answer: Sequence[Finding]) -> list[Finding]:
    if _is_empty(summary):
        text = "The run holds no points, so there is nothing to conclude."
        return [Finding("No points", text, "unknown")]
    found = list(answer)
    if not found:
        for arm in arms(summary):
            pooled = groups(take_arm(summary, arm), arm[0])
            points = list_points(pooled)
            told = _sweep(pooled, arm[0])
            found += [replace(one, series=arm[1], points=points) for one in told]
    return found + batching(summary["points"]) + warn(summary["points"])


def _title(summary: Summary, answer: Sequence[Finding]) -> str:
    if _is_empty(summary):
        return "No points were measured"
    if answer:
        return _fit([answer[0].title])
    pooled = [groups(take_arm(summary, arm), arm[0]) for arm in arms(summary)]
    told = [_line(one) for one in pooled if rank(one, OUTPUT, highest=True)]
    if not told:
        return "No point is valid, so nothing can be concluded"
    first, *others = sorted(told, key=lambda line: line.startswith("Can't tell"))
    return _fit([first, *(other[0].lower() + other[1:] for other in others)])


def _fit(told: Sequence[str]) -> str:
    """Return as many of these as a headline has room for, and how many more there are.

    One that is too long alone is cut at a word; a doubt behind it is kept.
    """
    for count in range(len(told), 0, -1):
        more = len(told) - count
        rest = [f"{more} more below"] if more else []
        whole = "; ".join([*told[:count], *rest])
        if len(whole) <= MAX_HEADLINE:
            return whole
    text, mark, doubt = told[0].partition(" [SUSPECT")
    tail = f"…{mark}{doubt}" + (f"; {len(told) - 1} more below" if len(told) > 1 else "")
    kept = text[: MAX_HEADLINE - len(tail)]
    return f"{kept.rpartition(' ')[0] or kept}{tail}"


def _answer(summary: Summary) -> list[Finding]:
    """Return what the question of the run's notebook is answered with, nothing for a sweep."""
    if _is_empty(summary):
        return []
    question = QUESTIONS.get(str((summary.get("run") or {}).get("notebook")))
    return question(summary) if question else []


def _line(pooled: Sequence[Group]) -> str:
    arm = next((one.series for one in pooled if one.series), None)
    return f"{arm}: {_tell(pooled)}" if arm else _tell(pooled)


def _tell(pooled: Sequence[Group]) -> str:
    """Return what one sweep found: by throughput, or by latency where that says nothing."""
    ranked = rank(pooled, OUTPUT, highest=True)
    best, worst = ranked[0], ranked[-1]
    rate = words.per_second(best.mean(OUTPUT) or 0.0, "tokens")
    doubt = tell_doubt(ranked)
    if len(ranked) == 1:
        return f"{best.name} gives {rate}{doubt}"
    if len(ties(ranked, OUTPUT)) < len(ranked) - 1:
        return f"{best.name} gives the most output: {rate}{times(worst, best)}{doubt}"
    for found in latency(pooled):
        if found.kind == "result":
            return f"{words.short(best.variable)}: {found.title[0].lower()}{found.title[1:]}{doubt}"
    return f"{tell_tie(ranked)}{doubt}"


def _sweep(pooled: Sequence[Group], variable: str | None) -> list[Finding]:
    short = words.short(variable)
    ranked = rank(pooled, OUTPUT, highest=True)
    if not ranked:
        text = "Every point is invalid or gave no output throughput; the warnings name the causes."
        return [Finding(f"Nothing to say about {short}", text, "unknown", variable)]
    if len(ranked) == 1:
        return [single(ranked[0]), *_pressure(ranked[0], "It"), *goodput(pooled)]
    found = [throughput(ranked)]
    if found[0].kind == "result":
        found += cost(ranked[-1], ranked[0])
    found += latency(pooled)
    found += _pressure(ranked[0], ranked[0].name)
    found += goodput(pooled)
    return found + resolution(ranked)


def _pressure(best: Group, subject: str) -> list[Finding]:
    waiting, most = best.mean("num_requests_waiting.mean"), best.numbers("num_requests_waiting.max")
    usage, full = best.mean("kv_cache_usage.mean"), best.numbers("kv_cache_usage.max")
    sentences = []
    if waiting is None:
        reason = best.reason("num_requests_waiting")
        sentences.append(f"The waiting queue was not measured ({reason}).")
    elif max(most) == 0:
        sentences.append("No request waits in the engine's queue.")
    else:
        sentences.append(
            f"The waiting queue holds {words.number(waiting)} requests on average, "
            f"{words.number(max(most))} at most."
        )
    if usage is None:
        sentences.append(f"KV cache usage was not measured ({best.reason('kv_cache_usage')}).")
    else:
        sentences.append(
            f"KV cache usage is {words.percent(usage)} on average, {words.percent(max(full))} "
            "at its highest."
        )
    preempted = best.mean("num_preemptions")
    if preempted:
        sentences.append(f"Preemptions in a run: {words.number(preempted)}.")
    slots = best.mean("slot_wait_s.p95")
    if slots is not None and slots > MIN_SLOT_WAIT_S:
        sentences.append(
            f"Before they reach the engine, requests wait for a slot: P95 {words.seconds(slots)}."
        )
    measured = waiting is not None or usage is not None
    if measured:
        sentences.append(tell_verdict([best]))
    title = "Queue and KV cache" if subject == "It" else f"Queue and KV cache at {subject}"
    kind: Kind = "fact" if measured else "unknown"
    return [Finding(title, " ".join(sentences), kind, best.variable)]
