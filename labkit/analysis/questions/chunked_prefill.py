"""How much long prompts stall running streams, with and without chunks, at several budgets.

Without chunks is an arm that says so, or a budget that holds the longest prompt at once: then a
prompt takes one step. It must not judge a point.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.arms import measure_ratio
from labkit.analysis.claims import tell_ratio
from labkit.analysis.effects import OUTPUT
from labkit.analysis.finding import Effect, Evidence, Finding
from labkit.analysis.pool import Group, contrast, groups, list_points, tell_verdict
from labkit.analysis.unresolved import explain

VARIABLE = "engine.max_num_batched_tokens"
STALL, TTFT, TPOT = "prefill_stall_s.max", "ttft_s.p95", "tpot_s.p95"
SEEN = {TTFT: "P95 TTFT", TPOT: "P95 TPOT"}


def conclude(summary: Mapping[str, Any]) -> list[Finding]:
    """Return what chunks do to the worst stall, what they cost, and how TTFT scatters."""
    pooled = groups(summary, VARIABLE)
    whole = [one for one in pooled if is_whole(one)]
    chunked = [one for one in pooled if not is_whole(one)]
    if not pooled:
        return []
    if not whole or not chunked:
        missing = "enters in one step" if chunked else "is cut into chunks"
        text = f"No usable point at which a long prompt {missing}, so there is nothing to compare."
        return [Finding("With and without chunks: nothing to compare", text, "unknown", VARIABLE)]
    base = whole[-1]
    return [*_stall(chunked, base), *_cost(chunked, base), _scatter(pooled)]


def is_whole(group: Group) -> bool:
    """Return whether the longest prompt of a group entered in one step."""
    for row in group.rows:
        told = row.get("effective") or {}
        on = told.get("enable_chunked_prefill", row["asked"].get("enable_chunked_prefill"))
        if on is False:
            return True
        budget = told.get("max_num_batched_tokens") or row["asked"].get("max_num_batched_tokens")
        longest = (row.get("prompt_tokens") or {}).get("max")
        if budget is None or longest is None or longest > budget:
            return False
    return True


def name(group: Group) -> str:
    """Return "budget 64", with its arm if it has one."""
    return f"budget {group.label}" + (f" ({group.series})" if group.series else "")


def _stall(chunked: Sequence[Group], base: Group) -> list[Finding]:
    measured = [one for one in chunked if one.numbers(STALL)]
    if not measured or not base.numbers(STALL):
        why = base.reason("prefill_stall_s")
        text = f"Stalls were not measured on both sides: {why}."
        return [Finding("Can't tell what chunks do to stalls", text, "unknown", VARIABLE)]
    best = min(measured, key=lambda one: one.mean(STALL) or 0.0)
    found = contrast(base, best, STALL)
    effect = measure_ratio(base, best, STALL)
    text = (
        f"While a long prompt enters, the worst gap between two chunks of a running stream is "
        f"{words.seconds(found.mean_a)} at {name(base)}, where a prompt takes one step, and "
        f"{words.seconds(found.mean_b)} at {name(best)}"
    )
    text += f": {tell_ratio(effect)}." if found.resolved else f": {explain(found).full}."
    text += f" {tell_verdict([base, best])}"
    title = "Can't tell what chunks do to stalls"
    if found.resolved:
        change = "shorten" if found.difference < 0 else "do not shorten"
        title = f"Chunks {change} the worst stall: {words.seconds(found.mean_b)} at {name(best)}"
        title += f", {words.seconds(found.mean_a)} without"
    kind = "result" if found.resolved else "unknown"
    return [_make(title, text, kind, effect, [base, best], STALL)]


def _cost(chunked: Sequence[Group], base: Group) -> list[Finding]:
    smallest = chunked[0]
    told, fields = [], [OUTPUT, *SEEN]
    costs, unknown = [], False
    for field in fields:
        if not smallest.numbers(field) or not base.numbers(field):
            continue
        label = SEEN.get(field, "output")
        form = words.tokens_per_second if field == OUTPUT else words.seconds
        found = contrast(base, smallest, field)
        change = f"{form(found.mean_a)} to {form(found.mean_b)}"
        if not found.resolved:
            why = explain(found)
            unknown = unknown or why.kind == "unknown"
            told.append(f"{label} {change}: {why.full}")
            continue
        told.append(f"{label} {change}")
        if (found.difference < 0) == (field == OUTPUT):
            costs.append(label)
    if not told:
        return []
    text = f"From {name(base)} to {name(smallest)}, the smallest: {'; '.join(told)}. "
    text += tell_verdict([base, smallest])
    if costs:
        title = f"The smallest budget costs {words.join(costs)}"
        effect = measure_ratio(base, smallest, OUTPUT) if smallest.numbers(OUTPUT) else None
        return [_make(title, text, "cost", effect, [base, smallest], OUTPUT)]
    if unknown:
        title = "Can't tell what the smallest budget costs"
        return [_make(title, text, "unknown", None, [base, smallest], OUTPUT)]
    title = "The smallest budget shows no cost"
    return [_make(title, text, "fact", None, [base, smallest], OUTPUT)]


def _scatter(pooled: Sequence[Group]) -> Finding:
    """Say how far P95 TTFT lies above its median: the jitter that the articles speak of."""
    told = []
    for one in pooled:
        middle, tail = one.mean("ttft_s.p50"), one.mean(TTFT)
        if middle and tail is not None:
            told.append(f"{name(one)}: {words.number(tail / middle)} times")
    if not told:
        return Finding("TTFT: not measured", pooled[0].reason("ttft_s"), "unknown", VARIABLE)
    text = f"P95 TTFT over its median, by budget: {'; '.join(told)}. {tell_verdict(pooled)}"
    points = list_points(pooled)
    return Finding("How TTFT scatters", text, "fact", VARIABLE, points=points)


def _make(
    title: str,
    text: str,
    kind: Any,
    effect: Effect | None,
    used: Sequence[Group],
    field: str,
) -> Finding:
    evidence = tuple(
        Evidence(field, name(one), mean) for one in used if (mean := one.mean(field)) is not None
    )
    points = list_points(used)
    return Finding(title, text, kind, VARIABLE, effect=effect, evidence=evidence, points=points)
