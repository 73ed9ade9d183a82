"""Static or continuous batching: the claims of the articles, each told as held or not, and why.

Which arm is which is read from how its points ran, not from its name. It must not judge a point.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words
from labkit.analysis.arms import Pair, choose_pair, find_groups, list_series, pair_arms
from labkit.analysis.batching import BY_CLIENT, IN_ENGINE, tell_batching
from labkit.analysis.claims import check_claim, tell_change, tell_gain
from labkit.analysis.effects import OUTPUT
from labkit.analysis.finding import Effect, Evidence, Finding
from labkit.analysis.pool import contrast, list_points, tell_verdict
from labkit.analysis.step_time import fit_step_time, tell_step_time

VARIABLE = "load.max_concurrency"
CLAIMED_AT = 64
"""The concurrency at which the articles claim their numbers."""
MORE_OUTPUT, LESS_TTFT, KV_LOW, KV_HIGH = 2.0, 0.6, 0.8, 0.9
TTFT = "ttft_s.p95"
E2E = "e2e_latency_s.p95"

Summary = Mapping[str, Any]


def conclude(summary: Summary) -> list[Finding]:
    """Return what continuous batching gained over each static control, the claims, and why."""
    continuous, controls = find_arms(summary)
    if continuous is None or not controls:
        return []
    found: list[Finding] = []
    for control in controls:
        pairs = pair_arms(summary, VARIABLE, control, continuous)
        pair = choose_pair(pairs, CLAIMED_AT)
        if pair is None:
            text = f"No concurrency is usable in both {continuous} and {control}."
            found.append(Finding(f"Nothing to compare with {control}", text, "unknown", VARIABLE))
            continue
        found += _compare(pair)
        found += _shape(summary, control, continuous, pair)
    found += _kv_usage(summary, continuous)
    return found + _explain(summary, continuous)


def find_arms(summary: Summary) -> tuple[str | None, list[str]]:
    """Return the continuous arm and the static ones, those of the engine itself first."""
    kinds: dict[str, list[str]] = {"continuous": [], "engine": [], "client": []}
    for series in list_series(summary, VARIABLE):
        rows = [row for one in find_groups(summary, VARIABLE, series) for row in one.rows]
        if not rows:
            continue
        told = [(tell_batching(row) or ("", ""))[1] for row in rows]
        if all(one.startswith(IN_ENGINE) for one in told):
            kinds["engine"].append(series)
        elif all(one.startswith(BY_CLIENT) for one in told):
            kinds["client"].append(series)
        elif not any(told):
            kinds["continuous"].append(series)
    return next(iter(kinds["continuous"]), None), kinds["engine"] + kinds["client"]


def _compare(pair: Pair) -> list[Finding]:
    found = []
    if pair.measures(OUTPUT):
        found += [
            _gain(pair),
            check_claim(
                f"At least twice the output of {pair.a.series}",
                pair,
                OUTPUT,
                claimed=MORE_OUTPUT,
                side="least",
                label="output",
                form=words.tokens_per_second,
            ),
        ]
    if pair.measures(TTFT):
        found.append(
            check_claim(
                f"P95 TTFT 40 % or more below that of {pair.a.series}",
                pair,
                TTFT,
                claimed=LESS_TTFT,
                side="most",
                label="P95 TTFT",
                form=words.seconds,
            )
        )
    if not pair.same_requests:
        text = f"{pair.a.series} and {pair.b.series} were not sent the same requests at {pair.name}"
        text += "; what differs may be the requests."
        found.append(Finding("The arms were not asked the same", text, "warning", VARIABLE))
    return found


def _gain(pair: Pair) -> Finding:
    """Say in one sentence what continuous batching gave over a control."""
    effect, resolved = pair.ratio(OUTPUT), pair.is_resolved(OUTPUT)
    told = f"no resolved gain over {pair.a.series}"
    if resolved:
        told = f"{pair.b.series} gives {tell_gain(effect.value)} that of {pair.a.series}"
    title = f"Output at {pair.name}: {told}"
    told = tell_change(pair, OUTPUT, "output", words.tokens_per_second)
    text = f"{told[0].upper()}{told[1:]}. {tell_verdict([pair.a, pair.b])}"
    return Finding(
        title,
        text,
        "result" if resolved else "unknown",
        VARIABLE,
        effect=effect,
        evidence=pair.evidence(OUTPUT),
        points=pair.points,
    )


def _shape(summary: Summary, control: str, continuous: str, pair: Pair) -> list[Finding]:
    """Test that static output flattens while its tail climbs, and continuous climbs on."""
    claim = f"Output flattens and P95 climbs for {control}, while output climbs on for {continuous}"
    parts, held, points = [], [], pair.points
    for series in (control, continuous):
        own = [one for one in find_groups(summary, VARIABLE, series) if one.numbers(OUTPUT)]
        if len(own) < 3:
            text = f"{series} has fewer than three usable values."
            return [Finding(claim, text, "unknown", VARIABLE, verdict="can't tell")]
        before, last = own[-2], own[-1]
        output, tail = contrast(before, last, OUTPUT), contrast(before, last, E2E)
        rises = output.resolved and output.difference > 0
        climbs = tail.resolved and tail.difference > 0
        held.append(rises if series == continuous else not rises and climbs)
        parts.append(
            f"{series}, from {before.label} to {last.label}: output "
            f"{words.number(output.mean_a)} to {words.tokens_per_second(output.mean_b)}, P95 "
            f"end-to-end latency {words.seconds(tail.mean_a)} to {words.seconds(tail.mean_b)}"
        )
        points += before.points + last.points
    text = f"{'. '.join(parts)}."
    return [
        Finding(
            claim,
            text,
            "result",
            VARIABLE,
            verdict="held" if all(held) else "not held",
            points=tuple(dict.fromkeys(points)),
        )
    ]


def _kv_usage(summary: Summary, continuous: str) -> list[Finding]:
    own = [one for one in find_groups(summary, VARIABLE, continuous)]
    claim = "KV cache usage stays at 80 to 90 %"
    measured = [one for one in own if one.numbers("kv_cache_usage.mean")]
    if not measured:
        why = own[0].reason("kv_cache_usage") if own else "no point is usable"
        return [Finding(claim, f"Not measured: {why}.", "unknown", VARIABLE, verdict="can't tell")]
    at = next((one for one in measured if one.value == CLAIMED_AT), measured[-1])
    mean, most = at.mean("kv_cache_usage.mean") or 0.0, at.mean("kv_cache_usage.max") or 0.0
    text = f"At {at.name}, {continuous}: {words.percent(mean)} on average, {words.percent(most)} "
    text += "at most. How full it is follows from the size of the cache and the lengths of the "
    text += f"requests, so a low number is no fault. {tell_verdict([at])}"
    inside = KV_LOW <= mean <= KV_HIGH
    return [
        Finding(
            claim,
            text,
            "result",
            VARIABLE,
            verdict="held" if inside else "not held",
            effect=Effect("kv_cache_usage.mean", "value", mean, n=len(at.rows)),
            evidence=(Evidence("kv_cache_usage.mean", at.name, mean),),
            points=at.points,
        )
    ]


def _explain(summary: Summary, continuous: str) -> list[Finding]:
    """Say what batching can give at most here: the step-time model over the continuous arm."""
    own = find_groups(summary, VARIABLE, continuous)
    fit, why = fit_step_time([row for one in own for row in one.rows])
    if fit is None:
        text = f"What batching can give at most here is not known: {why}."
        return [Finding("Why: not known", text, "unknown", VARIABLE)]
    title, text = tell_step_time(fit)
    return [
        Finding(
            f"Why: {title[0].lower()}{title[1:]}",
            text,
            "fact",
            VARIABLE,
            effect=Effect("step_time.max_gain", "value", fit.max_gain),
            points=list_points(own),
        )
    ]
