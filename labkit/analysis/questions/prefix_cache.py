"""What reuse of prompt prefixes saves, by how much of a prompt is shared: on or off, or by policy.

Each arm is told against the first one. It must not judge a point.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.arms import Pair, find_groups, list_series, list_variables, pair_arms
from labkit.analysis.claims import tell_changes
from labkit.analysis.effects import OUTPUT
from labkit.analysis.finding import Evidence, Finding, Kind
from labkit.analysis.pool import Group, list_points, tell_verdict

TTFT = "ttft_s.p50"
HIT = "prefix_cache_hit_rate"
FIELDS = (
    (TTFT, "median TTFT", words.seconds),
    ("ttft_s.p95", "P95 TTFT", words.seconds),
    (OUTPUT, "output", words.tokens_per_second),
)

Summary = Mapping[str, Any]


def conclude(summary: Summary) -> list[Finding]:
    """Return what each arm saves against the first one, by shared part, and the hits it had."""
    found: list[Finding] = []
    for variable in list_variables(summary):
        series = list_series(summary, variable)
        for other in series[1:]:
            pairs = pair_arms(summary, variable, series[0], other)
            found += _save(pairs, variable, series[0], other)
        for one in series:
            found += _hits(find_groups(summary, variable, one), variable, one)
    return found


def share(group: Group) -> float | None:
    """Return how much of a prompt is shared, 0 to 1, as it was asked for; None if that is open."""
    workload = group.rows[0]["workload"]
    prefix, own = workload.get("prefix_tokens"), workload.get("prompt_tokens")
    if not isinstance(prefix, int) or not isinstance(own, int):
        return None
    return prefix / (prefix + own)


def _save(pairs: Sequence[Pair], variable: str, base: str, other: str) -> list[Finding]:
    measured = [one for one in pairs if one.measures(TTFT)]
    if not measured:
        text = f"No value is usable in both {base} and {other}."
        return [Finding(f"Nothing to compare with {base}", text, "unknown", variable)]
    resolved = [one for one in measured if one.is_resolved(TTFT)]
    best = min(resolved or measured, key=lambda one: one.ratio(TTFT).value)
    effect = best.ratio(TTFT)
    text = " ".join(_tell(one) for one in measured)
    if not best.same_requests:
        text += " The arms were not sent the same requests."
    text += f" {tell_verdict([group for one in measured for group in (one.a, one.b)])}"
    kind: Kind = "unknown"
    title = f"Can't tell what {other} saves against {base}"
    if resolved and effect.value < 1:
        saved = words.percent(1 - effect.value)
        title = f"{other} saves {saved} of the median TTFT at {_place(best)}, against {base}"
        kind = "result"
    elif resolved:
        title = f"{other} costs median TTFT at {_place(best)}, against {base}"
        kind = "cost"
    return [
        Finding(
            title,
            text,
            kind,
            variable,
            effect=effect,
            evidence=tuple(two for one in measured for two in one.evidence(TTFT)),
            points=tuple(point for one in measured for point in one.points),
        )
    ]


def _place(pair: Pair) -> str:
    part = share(pair.a)
    return pair.name if part is None else f"{words.percent(part)} shared"


def _tell(pair: Pair) -> str:
    place = _place(pair)
    return f"{place[0].upper()}{place[1:]} ({pair.name}): {tell_changes(pair, FIELDS)}."


def _hits(pooled: Sequence[Group], variable: str, series: str) -> list[Finding]:
    told, evidence = [], []
    for one in pooled:
        rate, part = one.mean(HIT), share(one)
        if rate is None:
            continue
        of = f" of {words.percent(part)} shared" if part is not None else ""
        told.append(f"{one.label}: {words.percent(rate)}{of}")
        evidence.append(Evidence(HIT, f"{one.name}, {series}", rate))
    if not told:
        reason = pooled[0].reason(HIT) if pooled else "no point is usable"
        text = f"The hit rate was not measured ({reason})."
        return [Finding(f"Cache hits of {series}: not measured", text, "unknown", variable)]
    text = f"Prompt tokens served from the cache, by {words.short(variable)}: {'; '.join(told)}. "
    text += tell_verdict(pooled)
    points = list_points(pooled)
    most = max(one.value for one in evidence)
    title = f"Cache hits of {series}: up to {words.percent(most)}"
    return [Finding(title, text, "fact", variable, evidence=tuple(evidence), points=points)]
