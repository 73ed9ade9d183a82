"""Which engine serves this traffic best, at each load: throughput, and the two latencies.

An arm is an engine. It must not judge a point.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.arms import find_groups, list_series, list_variables, measure_ratio
from labkit.analysis.effects import OUTPUT
from labkit.analysis.finding import Evidence, Finding
from labkit.analysis.pool import Group, rank, tell_verdict, ties

FIELDS = (
    (OUTPUT, "most output", True, words.tokens_per_second),
    ("ttft_s.p95", "shortest P95 TTFT", False, words.seconds),
    ("tpot_s.p95", "shortest P95 TPOT", False, words.seconds),
)

Summary = Mapping[str, Any]


def conclude(summary: Summary) -> list[Finding]:
    """Return which engine leads in what at the loads that all of them were measured at."""
    found: list[Finding] = []
    for variable in list_variables(summary):
        arms = {one: find_groups(summary, variable, one) for one in list_series(summary, variable)}
        used = {name: pooled for name, pooled in arms.items() if pooled}
        for name in arms.keys() - used.keys():
            text = f"No point of {name} is usable; the warnings name the causes."
            found.append(Finding(f"{name} is left out", text, "warning", variable))
        if len(used) < 2:
            text = "Fewer than two engines have a usable point."
            found.append(Finding("Nothing to compare", text, "unknown", variable))
            continue
        told = [_lead(used, variable, *one) for one in FIELDS]
        found += sorted(told, key=lambda one: one.kind == "unknown")
        found += _asked(used, variable)
    return found


def _lead(
    arms: Mapping[str, Sequence[Group]],
    variable: str,
    field: str,
    what: str,
    highest: bool,
    form: Any,
) -> Finding:
    """Say who leads at each load, and by how much at the largest that all measured."""
    found = [[one.label for one in own] for own in arms.values()]
    common = [label for label in found[0] if all(label in own for own in found)]
    told, leads, effect, evidence, points = [], [], None, [], []
    for label in common:
        here = [next(g for g in own if g.label == label) for own in arms.values()]
        ranked = rank(here, field, highest=highest)
        if len(ranked) < 2:
            continue
        level = ties(ranked, field)
        names = ", ".join(f"{one.series} {form(one.mean(field) or 0.0)}" for one in ranked)
        if level:
            tied = words.join([str(one.series) for one in (ranked[0], *level)])
            names += f" ({tied} can't be told apart)"
        told.append(f"{ranked[0].name}: {names}")
        leads.append(None if level else str(ranked[0].series))
        effect = measure_ratio(ranked[1], ranked[0], field)
        evidence += [
            Evidence(field, f"{one.name}, {one.series}", one.mean(field) or 0.0) for one in ranked
        ]
        points += [point for one in here for point in one.points]
    if not told:
        text = "Two engines or more did not measure it at the same load."
        return Finding(f"Who has the {what}? Not known", text, "unknown", variable)
    sure = [one for one in leads if one]
    groups = [one for own in arms.values() for one in own]
    title = f"Can't tell who has the {what}"
    if sure and all(one == leads[0] for one in leads):
        title = f"{sure[0]} has the {what} at every load"
    elif leads[-1]:
        title = f"{leads[-1]} has the {what} at {words.short(variable)} {common[-1]}"
    elif sure:
        title = f"Who has the {what} depends on the load"
    text = f"{'; '.join(told)}. {tell_verdict(groups)}"
    return Finding(
        title,
        text,
        "result" if sure else "unknown",
        variable,
        effect=effect,
        evidence=tuple(evidence),
        points=tuple(points),
    )


def _asked(arms: Mapping[str, Sequence[Group]], variable: str) -> list[Finding]:
    """Say how far the engines were really asked the same: tokens sent, tokens answered."""
    told = []
    for name, own in arms.items():
        prompt, answer = own[-1].mean("prompt_tokens.mean"), own[-1].mean("completion_tokens.mean")
        if prompt is not None and answer is not None:
            told.append(
                f"{name} {words.number(prompt)} prompt and {words.number(answer)} completion tokens"
            )
    text = "Tokens of a request on average, as each engine counts them: "
    text += f"{'; '.join(told) or 'not told'}. The words are the same, in the same order."
    return [Finding("What each engine was asked", text, "fact", variable)]
