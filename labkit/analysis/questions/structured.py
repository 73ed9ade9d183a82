"""What JSON by a schema costs or saves against free text: tokens, time a token, time an answer.

The arm whose answers had to be JSON is told against the other. It must not judge a point.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.arms import Pair, find_groups, list_series, list_variables, pair_arms
from labkit.analysis.claims import tell_changes, tell_ratio
from labkit.analysis.effects import OUTPUT
from labkit.analysis.finding import Effect, Evidence, Finding, Kind
from labkit.analysis.pool import Group, list_points, tell_verdict

TPOT, E2E, LENGTH = "tpot_s.p50", "e2e_latency_s.p50", "completion_tokens.mean"
FIELDS = (
    (TPOT, "median TPOT", words.seconds),
    ("ttft_s.p50", "median TTFT", words.seconds),
    (OUTPUT, "output", words.tokens_per_second),
)

Summary = Mapping[str, Any]


def conclude(summary: Summary) -> list[Finding]:
    """Return what the schema does to a token, to an answer, and whether the answers are JSON."""
    found: list[Finding] = []
    for variable in list_variables(summary):
        series = list_series(summary, variable)
        bound = [one for one in series if _is_bound(find_groups(summary, variable, one))]
        free = [one for one in series if one not in bound]
        for one in bound:
            for other in free[:1]:
                found += _compare(pair_arms(summary, variable, other, one), variable, one)
            found += _valid(find_groups(summary, variable, one), variable, one)
    return found


def _is_bound(pooled: Sequence[Group]) -> bool:
    workloads = [row["workload"] for one in pooled for row in one.rows]
    return bool(workloads) and all(
        one.get("kind") == "structured" and one.get("constrained", True) for one in workloads
    )


def _compare(pairs: Sequence[Pair], variable: str, series: str) -> list[Finding]:
    measured = [one for one in pairs if one.measures(TPOT)]
    if not measured:
        text = "No value is usable with and without the schema."
        return [Finding("What the schema costs: nothing to compare", text, "unknown", variable)]
    at = measured[-1]
    told = [f"At {one.name}: {tell_changes(one, FIELDS)}." for one in measured]
    used = [group for one in measured for group in (one.a, one.b)]
    points = tuple(point for one in measured for point in one.points)
    effect = at.ratio(TPOT)
    title = f"{series}: no resolved effect on the time of a token"
    if at.is_resolved(TPOT):
        title = f"{series} takes {tell_ratio(effect)} time a token at {at.name}"
        if effect.value >= 2:
            title = f"{series} takes {tell_ratio(effect)} the time a token at {at.name}"
    kind: Kind = "unknown"
    if at.is_resolved(TPOT):
        kind = "cost" if effect.value > 1 else "result"
    text = f"{' '.join(told)} {tell_verdict(used)}"
    evidence = tuple(two for one in measured for two in one.evidence(TPOT))
    first = Finding(
        title,
        text,
        kind,
        variable,
        effect=effect,
        evidence=evidence,
        points=points,
    )
    return [first, *_answer(measured, variable, series)]


def _answer(pairs: Sequence[Pair], variable: str, series: str) -> list[Finding]:
    """Say when the schema ends an answer; free text is as long as it was asked to be."""
    told, evidence = [], []
    for one in pairs:
        length, latency = one.b.mean(LENGTH), one.b.mean(E2E)
        if length is None or latency is None:
            continue
        told.append(f"{one.name}: {words.number(length)} tokens in {words.seconds(latency)}")
        evidence.append(Evidence(LENGTH, f"{one.name}, {series}", length))
    if not told:
        return []
    text = f"Tokens of an answer on average, and its median latency: {'; '.join(told)}. "
    text += "The free text was as long as it was asked to be, so what the schema saves depends on "
    text += f"how long your free answers are. {tell_verdict([one.b for one in pairs])}"
    title = f"{series} ends an answer after {words.number(evidence[-1].value)} tokens"
    points = tuple(point for one in pairs for point in one.b.points)
    return [Finding(title, text, "fact", variable, evidence=tuple(evidence), points=points)]


def _valid(pooled: Sequence[Group], variable: str, series: str) -> list[Finding]:
    evidence = tuple(
        Evidence("json_share", f"{one.name}, {series}", mean)
        for one in pooled
        if (mean := one.mean("json_share")) is not None
    )
    if not evidence:
        reason = pooled[0].reason("json_share")
        text = f"Whether the answers are JSON is not known ({reason})."
        return [Finding("Are the answers JSON? Not known", text, "unknown", variable)]
    counted = sum(int(row["num_ok"]) for one in pooled for row in one.rows)
    least = min(one.value for one in evidence)
    text = "Answers that are one JSON value: "
    text += "; ".join(f"{words.percent(one.value)} at {one.place}" for one in evidence)
    text += f" ({counted} answers in all). An answer that was cut off at its most tokens is none."
    points = list_points(pooled)
    title = f"{words.percent(least)} of the answers or more are JSON"
    if least == 1:
        title = "Every answer is JSON"
    elif max(one.value for one in evidence) == 0:
        title = "No answer is JSON"
    effect = Effect("json_share", "value", least, n=counted)
    return [Finding(title, text, "fact", variable, effect=effect, evidence=evidence, points=points)]
