"""What rising load does to latency, in sentences: the knee, the part that gives way, the tail.

It words what capacity.py finds. It must not know whether the SLO holds over all.
"""

from labkit.analysis import words
from labkit.analysis.capacity import Capacity, find_groups
from labkit.analysis.effects import CLOCK, LATENCIES
from labkit.analysis.finding import Effect, Evidence, Finding
from labkit.analysis.knee import MULTIPLE
from labkit.analysis.pool import Group, tell_verdict
from labkit.analysis.schedule import FROM_INTENDED, name_latency
from labkit.analysis.statistics import percentile_supported

PARTS = {**LATENCIES, "error": "failing"}


def knee(capacity: Capacity) -> Finding:
    """Say where latency leaves its plateau, or why that can't be told."""
    knee, variable, field = capacity.knee, capacity.variable, f"{capacity.latency}.p95"
    groups = find_groups(capacity)
    rule = f"The knee is where P95 end-to-end latency comes to {MULTIPLE:g} times that of an "
    rule += "unloaded engine, which for M/M/1 is the load of the most power, throughput / latency "
    rule += "(Kleinrock 1979)."
    if knee.low is None or knee.high is None:
        text = f"{rule} Here {knee.reason}. {tell_verdict(groups)}"
        return Finding("Can't tell where the knee is", text, "unknown", variable, capacity.series,
                       "can't tell", points=_points(groups))  # fmt: skip
    first = groups[0]
    ends = [one for one in groups if one.value in (knee.low, knee.high)]
    told = [
        f"{words.seconds(one.mean(field) or 0.0)} at {words.place(variable, one.value)}"
        for one in ends
        if one is not first
    ]
    text = f"{rule} It is {words.seconds(knee.unloaded_s or 0.0)} at "
    text += f"{words.place(variable, first.value)}, then {words.join(told)}."
    if capacity.step.low is not None:
        where = "beyond" if capacity.step.low >= knee.high else "not beyond"
        text += f" The SLO holds up to {words.place(variable, capacity.step.low)}, {where} it."
    effect = Effect(variable, "value", knee.low, knee.low, knee.high, len(first.rows))
    used = [first, *(one for one in ends if one is not first)]
    evidence = tuple(
        Evidence(field, words.place(variable, one.value), one.mean(field) or 0.0) for one in used
    )
    title = f"The knee lies between {words.places(variable, knee.low, knee.high)}"
    return Finding(title, f"{text} {tell_verdict(used)}", "result", variable, capacity.series,
                   None, effect, evidence, _points(used))  # fmt: skip


def _points(groups: list[Group]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(point for one in groups for point in one.points))


def misses(capacity: Capacity) -> list[Finding]:
    """Say by which part requests miss the SLO, at the lowest value that misses and the highest."""
    miss, last = capacity.first_miss, capacity.served[-1]
    if miss is None:
        return []
    shown = [miss] if miss is last else [miss, last]
    counts = {name: _sum(miss.group, name) for name in PARTS}
    known = {name: count for name, count in counts.items() if count is not None}
    worst = max(known, key=lambda name: known[name], default=None)
    if worst is None or not known[worst]:
        return []
    sentences = []
    for one in shown:
        parts = [
            f"{count} by {PARTS[name]}"
            for name in PARTS
            if (count := _sum(one.group, name)) is not None and (count or name != "error")
        ]
        place = words.place(capacity.variable, one.group.value)
        missed = one.num_requests - one.num_met
        sentences.append(
            f"At {place} {missed} of {one.num_requests} requests miss the SLO: {words.join(parts)}."
        )
    tied = [name for name in known if known[name] == known[worst]]
    title = f"{words.join([PARTS[name] for name in tied])} gives way first"
    if len(tied) > 1:
        title = f"{words.join([PARTS[name] for name in tied])} give way together"
    groups = [one.group for one in shown]
    text = f"{' '.join(sentences)} A request may miss several. {tell_verdict(groups)}"
    evidence = tuple(
        Evidence(f"slo_misses.{name}", words.place(capacity.variable, miss.group.value), count)
        for name, count in known.items()
    )
    return [Finding(title[0].upper() + title[1:], text, "fact", capacity.variable, capacity.series,
                    evidence=evidence, points=_points(groups))]  # fmt: skip


def _sum(group: Group, name: str) -> int | None:
    found = group.numbers(f"slo_misses.{name}")
    return int(sum(found)) if found else None


def tail(capacity: Capacity) -> list[Finding]:
    """Say P95 and P99 of TTFT and TPOT apart, at the highest value that holds."""
    best = capacity.best or capacity.served[0]
    group, place = best.group, words.place(capacity.variable, best.group.value)
    sentences, evidence, fewest = [], [], best.num_requests
    for name in ("ttft_s", "tpot_s"):
        field = name_latency(name, group.rows)
        numbers = {key: group.mean(f"{field}.{key}") for key in ("p50", "p95", "p99")}
        told = {key: number for key, number in numbers.items() if number is not None}
        if len(told) < len(numbers):
            continue
        fewest = min(fewest, *(int(n) for n in group.numbers(f"{field}.n")))
        spelled = [f"{key.upper()} {words.seconds(number)}" for key, number in told.items()]
        sentences.append(f"{LATENCIES[name]}: {', '.join(spelled)}.")
        evidence += [Evidence(f"{field}.{key}", place, number) for key, number in told.items()]
    if not sentences:
        return []
    text = f"{' '.join(sentences)}{tell_clock([group])} n = {fewest} requests a repeat"
    text += "." if percentile_supported(fewest, 0.99) else ": read P99 as the slowest."
    return [Finding(f"P95 and P99 at {place}", f"{text} {tell_verdict([group])}", "fact",
                    capacity.variable, capacity.series, evidence=tuple(evidence),
                    points=group.points)]  # fmt: skip


def tell_clock(groups: list[Group]) -> str:
    """Return where latencies begin, with a blank before it; nothing where it is the send."""
    rows = [row for one in groups for row in one.rows]
    return f" {CLOCK}" if name_latency("ttft_s", rows) in FROM_INTENDED.values() else ""
