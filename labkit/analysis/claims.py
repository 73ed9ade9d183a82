"""Claims put beside what was measured: held, not held, or can't be told; always with the numbers.

It must not know which question a claim belongs to.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from labkit.analysis import words
from labkit.analysis.arms import Pair
from labkit.analysis.finding import Effect, Finding, Kind, Verdict
from labkit.analysis.pool import contrast, tell_verdict
from labkit.analysis.unresolved import explain

Told = tuple[str, str, Callable[[float], str]]
"""A field of the summary, its name in words, and how a number of it reads."""

KINDS: dict[Verdict, Kind] = {"held": "result", "not held": "result", "can't tell": "unknown"}


def judge(low: float, high: float, claimed: float, side: Literal["least", "most"]) -> Verdict:
    """Return whether what lies between two bounds is surely on the claimed side of a number."""
    if side == "least":
        return "held" if low >= claimed else "not held" if high < claimed else "can't tell"
    return "held" if high <= claimed else "not held" if low > claimed else "can't tell"


def tell_change(pair: Pair, field: str, label: str, form: Callable[[float], str]) -> str:
    """Return how b differs from a in words: "output: 142 tokens/s against 60, 2.4 times"."""
    found = contrast(pair.a, pair.b, field)
    told = f"{label}: {form(found.mean_b)} against {form(found.mean_a)}"
    if not found.resolved:
        return f"{told} ({explain(found).full})"
    if found.ratio is None:
        return told
    return f"{told}, {tell_ratio(pair.ratio(field))}"


def tell_changes(pair: Pair, fields: Sequence[Told]) -> str:
    """Return how b differs from a in each field that both measured, apart by semicolons."""
    told = [tell_change(pair, *one) for one in fields if pair.measures(one[0])]
    return "; ".join(told)


def tell_ratio(effect: Effect) -> str:
    """Return a ratio as "2.4 times", or as "38 % less"; with its interval if it has one."""
    form = _tell_times if effect.value >= 2 else _tell_share
    told = form(effect.value)
    if effect.low is None or effect.high is None:
        return told
    if effect.value >= 2:
        span = f"{words.number(effect.low)} to {words.number(effect.high)}"
    else:
        span = f"{_sign(effect.low)} to {_sign(effect.high)}"
    return f"{told} (95 % interval {span}, {effect.n} repeats)"


def tell_gain(ratio: float) -> str:
    """Return "2.4 times", or "38 % more than", to stand before what is compared."""
    return _tell_times(ratio) if ratio >= 2 else f"{_tell_share(ratio)} than"


def check_claim(
    claim: str,
    pair: Pair,
    field: str,
    *,
    claimed: float,
    side: Literal["least", "most"],
    label: str,
    form: Callable[[float], str],
) -> Finding:
    """Return the finding on a claim that the ratio b / a of a field is at least, or at most, so."""
    verdict = judge(*pair.bounds(field), claimed, side)
    told = tell_change(pair, field, label, form)
    text = f"At {pair.name}, {pair.b.series} against {pair.a.series}: {told}."
    if verdict == "can't tell":
        text += " The bounds of the ratio lie on both sides of the claim."
    text += f" {tell_verdict([pair.a, pair.b])}"
    return Finding(
        claim,
        text,
        KINDS[verdict],
        pair.a.variable,
        verdict=verdict,
        effect=pair.ratio(field),
        evidence=pair.evidence(field),
        points=pair.points,
    )


def _tell_times(ratio: float) -> str:
    return f"{words.number(ratio)} times"


def _tell_share(ratio: float) -> str:
    change = ratio - 1
    return f"{words.percent(abs(change))} {'more' if change > 0 else 'less'}"


def _sign(ratio: float) -> str:
    return f"{'+' if ratio >= 1 else '-'}{words.percent(abs(ratio - 1))}"
