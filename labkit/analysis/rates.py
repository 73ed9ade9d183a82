"""Rates and lengths of one point from its requests; definitions.py defines each of them.

It must not know about samples, engines or how requests were sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis.misses import LIMITS, meets
from labkit.analysis.series import finite
from labkit.analysis.statistics import percentile

LENGTHS = ("prompt_tokens", "completion_tokens")
PLACES = [(number + 0.5) / 20 for number in range(20)]
"""Quantiles that stand for all prompts, each for a twentieth of them."""
RATES = (
    "request_throughput_per_s",
    "output_throughput_tokens_per_s",
    "total_throughput_tokens_per_s",
    "goodput_per_s",
)

Row = dict[str, Any]


def json_share(ok: Sequence[Row], reasons: Row) -> Row:
    """Return the share of ok answers that were JSON, among those that had to be."""
    judged = [request["is_json"] for request in ok if request.get("is_json") is not None]
    if not judged:
        reasons["json_share"] = "no request asked for JSON"
        return {"json_share": None}
    return {"json_share": sum(judged) / len(judged)}


def lengths(ok: Sequence[Row], point: Row, reasons: Row) -> Row:
    """Return what was sent and received in tokens, and how far it is from what was asked.

    A deviation is the largest over ok requests, as a share of the number (or bound) asked. Of
    prompts the lengths at PLACES are told, too.
    """
    result: Row = {}
    workload = point.get("workload") or {}
    for name in LENGTHS:
        told = [request[name] for request in ok if request.get(name) is not None]
        result[name] = result[f"{name}_deviation"] = None
        if not told:
            reasons[name] = reasons[f"{name}_deviation"] = f"no ok request tells its {name}"
            continue
        result[name] = {
            "mean": sum(told) / len(told),
            "min": min(told),
            "max": max(told),
            "total": sum(told),
            "n": len(told),
        }
        if name == "prompt_tokens":
            result[name]["quantiles"] = [percentile(told, place) for place in PLACES]
        bounds, why = _asked(workload, name)
        if bounds is None:
            reasons[f"{name}_deviation"] = why
            continue
        low, high = bounds
        result[f"{name}_deviation"] = max(
            max(0.0, (low - min(told)) / low, (max(told) - high) / high), 0.0
        )
    return result


def _asked(workload: Row, name: str) -> tuple[tuple[float, float] | None, str]:
    """Return the bounds of what was asked of every request, or (None, why there are none)."""
    kind, bounds = workload.get("kind"), _bounds(workload.get(name))
    if bounds is None:
        return None, f"the workload does not say how many {name} were asked"
    if name == "prompt_tokens":
        if kind in ("multi_turn", "agent"):
            return None, "a prompt carries the steps of its task before it"
        if kind == "mixed" and (long := _bounds(workload.get("long_prompt_tokens"))):
            return (min(bounds[0], long[0]), max(bounds[1], long[1])), ""
        shared = finite(workload.get("prefix_tokens")) if kind == "shared_prefix" else None
        return (bounds[0] + (shared or 0), bounds[1] + (shared or 0)), ""
    if kind == "jsonl":
        return None, "a line of the file may ask for a number of its own"
    return bounds, ""


def _bounds(asked: Any) -> tuple[float, float] | None:
    if isinstance(asked, Mapping):
        low, high = finite(asked.get("low")), finite(asked.get("high"))
    else:
        low = high = finite(asked)
    return (low, high) if low and high else None


def rates(
    requests: Sequence[Row],
    ok: Sequence[Row],
    measured: Sequence[Row],
    slo: Mapping[str, float | None],
    reasons: Row,
    *,
    scheduled: bool = False,
) -> Row:
    """Return duration_s, the throughputs and the goodput, as definitions.py says."""
    limits = {name: limit for name in LIMITS if (limit := slo.get(name)) is not None}
    result: Row = dict.fromkeys(("duration_s", *RATES, "num_slo_met", "slo_attainment"))
    result["slo"] = limits
    if not limits:
        for name in ("goodput_per_s", "num_slo_met", "slo_attainment"):
            reasons[name] = "no SLO was given"
    elif requests:
        result["num_slo_met"] = sum(
            1 for one in measured if meets(one, limits, scheduled=scheduled)
        )
        result["slo_attainment"] = result["num_slo_met"] / len(requests)
    else:
        reasons["num_slo_met"] = reasons["slo_attainment"] = "no request was recorded"
    span = span_of(requests)
    if span is None or span[1] <= span[0]:
        why = "no request was recorded" if not requests else "the stamps span no time"
        reasons["duration_s"] = why
        reasons.update({name: why for name in RATES if name not in reasons})
        return result
    duration = result["duration_s"] = span[1] - span[0]
    result[RATES[0]] = len(ok) / duration
    for name, fields in ((RATES[1], ("completion_tokens",)), (RATES[2], LENGTHS)):
        untold = sum(1 for one in ok if any(one.get(field) is None for field in fields))
        if untold:
            reasons[name] = f"{untold} of {len(ok)} ok requests do not tell their tokens"
        else:
            result[name] = sum(one[field] for one in ok for field in fields) / duration
    if limits:
        result[RATES[3]] = result["num_slo_met"] / duration
    return result


def span_of(requests: Sequence[Row]) -> tuple[float, float] | None:
    """Return (first request sent, last request finished) in s of the monotonic clock."""
    starts = [one["sent_at_s"] for one in requests if one.get("sent_at_s") is not None]
    ends = [one.get("finished_at_s", one.get("last_token_at_s")) for one in requests]
    known = [end for end in ends if end is not None]
    return (min(starts), max(known)) if starts and known else None
