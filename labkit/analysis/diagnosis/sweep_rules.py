"""Faults that only a sweep can show: a budget whose rise cures TTFT, and the knee of a load.

It reads usable rows of one variable, repeats pooled.
"""

from collections.abc import Callable, Sequence

from labkit.analysis import words
from labkit.analysis.diagnosis.rule import Evidence, Match, Row, Rule
from labkit.analysis.diagnosis.scheduling_rules import BUDGET_TOO_SMALL
from labkit.analysis.effects import OUTPUT
from labkit.analysis.pool import Group, contrast, groups, list_points
from labkit.analysis.schedule import name_latency

LOADS = ("load.max_concurrency", "load.request_rate_per_s")
MIN_VALUES = 3
TTFT, TPOT = "ttft_s.p95", "tpot_s.p95"
"""Decodes take their tokens first, so that it is the late prompts which a small budget starves."""


def check_budgets(rows: Sequence[Row]) -> Match | None:
    """Find budgets below one that lowers TTFT and costs no TPOT, or raises throughput as well."""
    pooled = _pool(rows, "engine.max_num_batched_tokens", (TTFT, TPOT, OUTPUT))
    if len(pooled) < 2:
        return None
    high = pooled[-1]
    low = [one for one in pooled[:-1] if _is_cured(one, high)]
    if not low:
        return None
    parts = (
        _tell_change(low[0], high, TTFT, "P95 TTFT", words.seconds),
        _tell_change(low[0], high, TPOT, "P95 TPOT", words.seconds),
        _tell_change(low[0], high, OUTPUT, "output", words.tokens_per_second),
    )
    names = words.join([one.label for one in low])
    cause = f"At a token budget of {names} prompts wait for steps that {high.label} does not need."
    return Match(cause, "high", parts, list_points(low))


def _is_cured(low: Group, high: Group) -> bool:
    first = contrast(low, high, TTFT)
    if not first.resolved or first.difference >= 0:
        return False
    gap, rate = contrast(low, high, TPOT), contrast(low, high, OUTPUT)
    costs = gap.resolved and gap.difference > 0
    return not costs or (rate.resolved and rate.difference > 0)


def _tell_change(
    low: Group, high: Group, field: str, label: str, form: Callable[[float], str]
) -> Evidence:
    before, after = low.mean(field) or 0.0, high.mean(field) or 0.0
    resolved = contrast(low, high, field).resolved
    text = f"{label} goes from {form(before)} at {low.label} to {form(after)} at {high.label}"
    text += "" if resolved else ", no resolved difference"
    return Evidence(text, field, after)


def check_knee(rows: Sequence[Row]) -> Match | None:
    """Find the value after which throughput rises no more and latency does."""
    variable = next(iter(rows), {}).get("variable")
    if variable not in LOADS:
        return None
    latency = f"{name_latency('e2e_latency_s', list(rows))}.p95"
    pooled = _pool(rows, str(variable), (OUTPUT, latency))
    if len(pooled) < MIN_VALUES:
        return None
    knee = next(k for k in range(len(pooled)) if not _rises(pooled[k], pooled[k + 1 :]))
    beyond = pooled[knee + 1 :]
    if not beyond:
        return None
    at, last = pooled[knee], beyond[-1]
    change = contrast(at, last, latency)
    if not change.resolved or change.difference <= 0:
        return None
    rate, most = at.mean(OUTPUT) or 0.0, max(one.mean(OUTPUT) or 0.0 for one in beyond)
    evidence = (
        Evidence(
            f"{at.name} gives {words.tokens_per_second(rate)}, more load at most "
            f"{words.tokens_per_second(most)}: no resolved gain",
            OUTPUT,
            rate,
        ),
        Evidence(
            f"P95 of the end-to-end latency rises from {words.seconds(change.mean_a)} to "
            f"{words.seconds(change.mean_b)} at {last.label}",
            latency,
            change.mean_b,
        ),
    )
    cause = f"The knee is at {at.name}: from there on more load only adds waiting."
    return Match(cause, "high", evidence, list_points(beyond))


def _rises(at: Group, later: Sequence[Group]) -> bool:
    found = [contrast(at, one, OUTPUT) for one in later]
    return any(one.resolved and one.difference > 0 for one in found)


def _pool(rows: Sequence[Row], variable: str, fields: Sequence[str]) -> list[Group]:
    pooled = groups({"points": list(rows)}, variable)
    return [one for one in pooled if all(one.numbers(field) for field in fields)]


BUDGET_SWEPT = Rule(
    BUDGET_TOO_SMALL.name,
    BUDGET_TOO_SMALL.title,
    BUDGET_TOO_SMALL.rank,
    BUDGET_TOO_SMALL.figure,
    BUDGET_TOO_SMALL.next_step,
    check_sweep=check_budgets,
)
SATURATION = Rule(
    "saturation",
    "The load is past its knee",
    9,
    "pressure",
    "Run at the knee, not beyond it. To move it: raise max_num_seqs while the KV pool has room, "
    "then max_num_batched_tokens; then add a replica.",
    check_sweep=check_knee,
)
