"""What tasks of several calls do to the tail, in sentences: how long, and how many keep the SLO.

It words what tasks.py finds. It must not know how traffic was searched.
"""

from collections.abc import Sequence

from labkit.analysis import words
from labkit.analysis.finding import Effect, Evidence, Finding, Kind, Verdict
from labkit.analysis.pool import tell_verdict
from labkit.analysis.tasks import STEPS, Kept, Tasks

MIN_CHANCE = 0.0005
"""A smaller share is told as nearly 0."""


def tell_tasks(tasks: Sequence[Tasks], series: str | None) -> list[Finding]:
    """Return how long tasks take by their number of calls, and whether the tail compounds."""
    if not tasks:
        text = "No valid point has tasks of which every call succeeded; the warnings name causes."
        return [Finding("Can't tell what tasks do to the tail", text, "unknown", STEPS, series,
                        "can't tell")]  # fmt: skip
    return [_latency(tasks, series), *_chance(tasks, series)]


def _latency(tasks: Sequence[Tasks], series: str | None) -> Finding:
    last = tasks[-1]
    told = []
    for one in tasks:
        numbers = [
            f"{key.upper()} {words.seconds(one.group.mean(f'task_latency_s.{key}') or 0.0)}"
            for key in ("p50", "p95", "p99")
        ]
        count = int(sum(one.group.numbers("task_latency_s.n")))
        told.append(f"{words.count(one.num_steps, 'call')}: {', '.join(numbers)} ({count} tasks)")
    text = f"{'; '.join(told)}."
    tail = last.group.mean("task_latency_s.p95") or 0.0
    title = f"A task of {words.count(last.num_steps, 'call')} takes {words.seconds(tail)} at P95"
    effect = None
    if last.expected_s and len(tasks) > 1:
        ratio = tail / last.expected_s
        title += f", {words.number(ratio)} times {last.num_steps} median calls"
        text += f" {last.num_steps} times the median call of the shortest task is "
        text += f"{words.seconds(last.expected_s)}: what lies above it is the tail, and prompts "
        text += "that grow from call to call."
        effect = Effect("task_latency_s.p95", "ratio", ratio, n=len(last.group.rows))
    groups = [one.group for one in tasks]
    evidence = tuple(
        Evidence(field, one.group.name, one.group.mean(field) or 0.0)
        for one in tasks
        for field in ("task_latency_s.p50", "task_latency_s.p95", "task_latency_s.p99")
    )
    return Finding(title, f"{text} {tell_verdict(groups)}", "fact", STEPS, series, None, effect,
                   evidence, _points(tasks))  # fmt: skip


def _chance(tasks: Sequence[Tasks], series: str | None) -> list[Finding]:
    """Say how many tasks keep the SLO in every call, beside p ** k of calls that miss by chance."""
    counted = [(one, one.kept) for one in tasks if one.kept is not None]
    if not counted:
        return []
    told = []
    for one, kept in counted:
        low, high = words.percent(kept.interval.low), words.percent(kept.interval.high)
        text = f"{words.count(one.num_steps, 'call')}: {kept.num_met} of {kept.num_tasks} tasks "
        text += f"({words.percent(kept.share)}, 95 % interval {low} to {high})"
        if one.num_steps > 1:
            text += f", {words.percent(kept.call_share)} of their calls, p^{one.num_steps} = "
            text += words.percent(kept.chance) if kept.chance >= MIN_CHANCE else "nearly 0"
        told.append(text)
    (_, first), (longest, last) = counted[0], counted[-1]
    verdict, why = _judge(first, last)
    title = f"{words.percent(last.call_share)} of calls keep the SLO, {words.percent(last.share)} "
    title += f"of tasks of {longest.num_steps} calls do"
    if verdict == "held":
        title = f"The tail compounds: {title}"
    elif verdict == "can't tell":
        title = f"Can't tell whether the tail compounds: {title}"
    text = f"Every call of a task keeps the SLO: {'; '.join(told)}. {why}"
    interval = last.interval
    effect = Effect("num_tasks_slo_met / num_tasks", "value", last.share,
                    interval.low, interval.high, last.num_tasks)  # fmt: skip
    evidence = [
        Evidence(field, one.group.name, value)
        for one, kept in counted
        for field, value in (("p", kept.call_share), ("p ** k", kept.chance))
    ]
    shown = [one for one, _ in counted]
    text += f" {tell_verdict([one.group for one in shown])}"
    kind: Kind = "unknown" if verdict == "can't tell" else "cost"
    return [Finding(title, text, kind, STEPS, series, verdict, effect, tuple(evidence),
                    _points(shown))]  # fmt: skip


def _judge(first: Kept, last: Kept) -> tuple[Verdict, str]:
    """Return whether fewer long tasks than short ones keep the SLO, and how p ** k compares."""
    if first is last:
        return "can't tell", "One length alone shows no effect."
    if last.call_share == 1:
        return "can't tell", "No call missed the SLO, so there is nothing that could compound."
    if last.interval.low <= last.chance <= last.interval.high:
        why = "p^k is what misses independent of each other lead to: this run shows no other."
    elif last.chance < last.interval.low:
        why = "More tasks keep it than p^k: misses do not fall by chance, they come together."
    else:
        why = "Fewer tasks keep it than p^k: misses do not fall by chance, they spread over tasks."
    if last.interval.high < first.interval.low:
        return "held", why
    if last.interval.low > first.interval.high:
        return "not held", f"Long tasks keep it more often than short ones. {why}"
    return "can't tell", f"The intervals of the shortest and the longest tasks overlap. {why}"


def _points(tasks: Sequence[Tasks]) -> tuple[str, ...]:
    return tuple(point for one in tasks for point in one.group.points)
