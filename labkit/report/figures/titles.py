"""What a figure's title says of the best value: never more than the findings say.

It ranks and compares with the functions that the findings use. It must not draw.
"""

from collections.abc import Callable, Sequence

from labkit.analysis import words
from labkit.analysis.pool import Group, contrast, in_order, ties
from labkit.analysis.unresolved import explain_all


def is_tied(ranked: Sequence[Group], field: str) -> bool:
    """Tell whether there are several values and none can be told from the first one."""
    return len(ranked) > 1 and len(ties(ranked, field)) == len(ranked) - 1


def tell_tie(
    ranked: Sequence[Group], field: str, subject: str, form: Callable[[float], str]
) -> str:
    """Return "Output throughput: no resolved difference between max_num_seqs 1 and 4, 3 to 4"."""
    found = explain_all(ranked, field)
    everywhere = all(one.doubted for one in ranked)
    names = [one.label if everywhere else label(one) for one in in_order(ranked)]
    values = f"{words.short(ranked[0].variable)} {words.join(names)}"
    values += " (all SUSPECT)" if everywhere else ""
    means = [one.mean(field) or 0.0 for one in ranked]
    if form(min(means)) == form(max(means)):
        return f"{subject} is {form(means[0])} at {values}"
    if found.kind == "unknown":
        told = f"can't tell {values} apart"
    elif found.kind == "same":
        told = f"{found.told} between {values} ({found.why})"
    else:
        told = f"{found.told} between {values}"
    return f"{subject}: {told}, {span(min(means), max(means), form)}"


def span(low: float, high: float, form: Callable[[float], str]) -> str:
    """Return "3.1 to 3.3 tokens/s", or one number where both read the same."""
    first, last = form(low), form(high)
    if first == last:
        return last
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') else first} to {last}"


def add_ties(ranked: Sequence[Group], field: str) -> str:
    """Return " (16 can't be told apart)" for the values tied with the first, nothing without."""
    tied = [one.label for one in in_order(ties(ranked, field))] if ranked else []
    return f" ({words.join(tied)} can't be told apart)" if tied else ""


def label(group: Group) -> str:
    """Return a value with its verdict behind it, if there is a doubt: "8 (SUSPECT)"."""
    return f"{group.label} (SUSPECT)" if group.doubted else group.label


def name_beaten(pooled: Sequence[Group], speed: str, delay: str) -> str:
    """Return which values another beats in both, resolved; empty with fewer than two values."""
    if len(pooled) < 2:
        return ""
    beaten = [
        one.label
        for one in in_order(pooled)
        if any(_beats(other, one, speed, delay) for other in pooled if other is not one)
    ]
    if not beaten:
        return "No value is beaten by another in both, as far as this run can tell."
    return (
        f"Beaten in both by another value: {words.short(pooled[0].variable)} {', '.join(beaten)}."
    )


def _beats(other: Group, one: Group, speed: str, delay: str) -> bool:
    faster, sooner = contrast(one, other, speed), contrast(one, other, delay)
    resolved = faster.resolved and sooner.resolved
    return resolved and faster.difference > 0 > sooner.difference
