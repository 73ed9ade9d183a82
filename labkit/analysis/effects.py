"""What a swept variable does to throughput and latency, in sentences with numbers.

It claims no difference that repeats (or, with one repeat, the 10 % rule) do not resolve, and puts
the verdict beside the numbers. It must not judge a point, nor know about the SLO or the queue.
"""

from collections.abc import Sequence

from labkit.analysis import words
from labkit.analysis.finding import Finding
from labkit.analysis.pool import Group, contrast, in_order, rank, tell_verdict, ties
from labkit.analysis.schedule import name_latency
from labkit.analysis.statistics import mean_interval
from labkit.analysis.unresolved import explain, explain_all

OUTPUT = "output_throughput_tokens_per_s"
LATENCIES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_latency_s": "end-to-end latency"}
CLOCK = "Latencies count from the intended time of a request, waits included."


def choose_latencies(pooled: Sequence[Group]) -> dict[str, str]:
    """Return the P95 fields to compare and their labels; with a schedule, from intended times."""
    rows = [row for one in pooled for row in one.rows]
    return {f"{name_latency(name, rows)}.p95": f"P95 {told}" for name, told in LATENCIES.items()}


def tell_clock(pooled: Sequence[Group]) -> str:
    """Return where latencies begin, with a blank before it; nothing where it is the send."""
    return f" {CLOCK}" if any("intended" in field for field in choose_latencies(pooled)) else ""


def single(group: Group) -> Finding:
    """Say what the only value of a sweep gives."""
    parts = [f"{words.per_second(group.mean(OUTPUT) or 0.0, 'tokens')} of output"]
    parts += [
        f"a {label} of {words.seconds(value)}"
        for field, label in choose_latencies([group]).items()
        if (value := group.mean(field)) is not None
    ]
    text = f"{group.name} gives {words.join(parts)}. One value alone cannot show an effect."
    text += f"{tell_clock([group])} {tell_verdict([group])}"
    return Finding(f"Only {group.name} was measured", text, "unknown", group.variable)


def tell_tie(ranked: Sequence[Group]) -> str:
    """Return in a few words what a variable does to output where no value can be told apart."""
    short, found = words.short(ranked[0].variable), explain_all(ranked, OUTPUT)
    if found.kind == "same":
        return f"{short} makes no difference to throughput, {found.why}"
    if found.kind == "unknown":
        return f"Can't tell what {short} does to throughput"
    return f"{short} makes no resolved difference to throughput"


def throughput(ranked: Sequence[Group]) -> Finding:
    """Say which value gives the most output, from two or more groups, best first."""
    best, worst, tied = ranked[0], ranked[-1], ties(ranked, OUTPUT)
    if len(tied) == len(ranked) - 1:
        low, high = worst.mean(OUTPUT) or 0.0, best.mean(OUTPUT) or 0.0
        text = (
            f"All {len(ranked)} values give between {words.number(low)} and "
            f"{words.per_second(high, 'tokens')}: {explain_all(ranked, OUTPUT).full}. "
            f"{tell_verdict(ranked)}"
        )
        return Finding(tell_tie(ranked), text, "unknown", best.variable)
    rate = words.per_second(best.mean(OUTPUT) or 0.0, "tokens")
    text = f"{best.name} gives {rate}{_spread(best)}{times(worst, best)}."
    if tied:
        verb = "gives" if len(tied) == 1 else "give"
        names = words.join([one.label for one in in_order(tied)])
        text += f" {names} {verb} nearly as much and can't be told apart from it."
    text += f" {tell_verdict([best, worst, *tied])}"
    return Finding(f"{best.name} gives the most output", text, "result", best.variable)


def cost(base: Group, best: Group) -> list[Finding]:
    """Say how the latencies change from the value of lowest throughput to the best one."""
    parts, worse, better, unknown = [], [], [], False
    for field, label in choose_latencies([base, best]).items():
        if not base.numbers(field) or not best.numbers(field):
            continue
        found = contrast(base, best, field)
        before, after = words.seconds(found.mean_a), words.seconds(found.mean_b)
        if not found.resolved:
            told = explain(found)
            unknown = unknown or told.kind == "unknown"
            parts.append(f"{label}: {told.full} ({before} and {after})")
        elif found.difference > 0:
            worse.append(label)
            parts.append(f"{label} rises from {before} to {after}")
        else:
            better.append(label)
            parts.append(f"{label} falls from {before} to {after}")
    if not parts:
        return []
    text = f"Against {base.name}, the lowest in throughput: {'; '.join(parts)}."
    text += f"{tell_clock([base, best])} {tell_verdict([base, best])}"
    if worse:
        title = f"{best.name} costs {words.join(worse)}"
    elif better:
        title = f"{best.name} also lowers {words.join(better)}"
    elif unknown:
        title = f"Can't tell what {best.name} costs in latency"
        return [Finding(title, text, "unknown", best.variable)]
    else:
        title = f"{best.name} shows no cost in latency"
    return [Finding(title, text, "cost" if worse else "result", best.variable)]


def latency(pooled: Sequence[Group]) -> list[Finding]:
    """Say which value gives the lowest P95 of each latency."""
    sentences, titles, kinds, variable = [], [], set(), pooled[0].variable
    for field, label in choose_latencies(pooled).items():
        ranked = rank(pooled, field, highest=False)
        if not ranked:
            sentences.append(f"{label} was not measured ({pooled[0].reason(field)}).")
            continue
        best, tied = ranked[0], ties(ranked, field)
        low = words.seconds(best.mean(field) or 0.0)
        if tied and len(tied) == len(ranked) - 1:
            high = words.seconds(ranked[-1].mean(field) or 0.0)
            told = explain_all(ranked, field)
            kinds.add(told.kind)
            sentences.append(f"{label}: {told.full} ({low} to {high}).")
            continue
        titles.append(f"{label} at {best.label}")
        text = f"{label} is lowest at {best.name} ({low}{_spread(best, field)})"
        if tied:
            names = words.join([one.label for one in in_order(tied)])
            text += f"; {names} can't be told apart from it"
        sentences.append(text + ".")
    text = f"{' '.join(sentences)}{tell_clock(pooled)} {tell_verdict(pooled)}"
    if not titles:
        title = f"Latency: no resolved effect of {words.short(variable)}"
        if "unknown" in kinds:
            title = f"Latency: can't tell what {words.short(variable)} does"
        return [Finding(title, text, "unknown", variable)]
    return [Finding(f"Lowest {words.join(titles)}", text, "result", variable)]


def times(base: Group, best: Group) -> str:
    """Return ", 2.4 times that of 1" for output throughput, or nothing where the base is 0."""
    ratio = contrast(base, best, OUTPUT).ratio
    return f", {words.number(ratio)} times that of {base.label}" if ratio is not None else ""


def _spread(group: Group, field: str = OUTPUT) -> str:
    interval = mean_interval(group.numbers(field))
    if interval is None:
        return ""
    form = words.number if field == OUTPUT else words.seconds
    low = form(max(0.0, interval.low))
    span = f"95 % interval {low} to {form(interval.high)}, {interval.n} repeats"
    return f" ({span})" if field == OUTPUT else f", {span}"
