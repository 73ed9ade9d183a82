"""What the tokens of a point took: joules and a price; metrics.py defines each figure.

A token is good if its request meets the SLO; without an SLO those of every ok request are. It must
not know how a GPU is asked.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from labkit.analysis.gauges import Window, tell_missing
from labkit.analysis.misses import LIMITS, meets
from labkit.analysis.series import finite, pairs

ENERGY = ("gpu_energy_j", "energy_per_output_token_j", "energy_per_good_token_j")
PRICE = "price_per_million_good_tokens"
MAX_GAP_PERIODS = 3

Row = dict[str, Any]


def energy(point: Row, samples: Sequence[Row], window: Window | None, reasons: Row) -> Row:
    """Return gpu_energy_j: all sampled GPUs over the load, None with its reason added."""
    own = [one for one in samples if one.get("source") == "gpu"]
    untold = ((point.get("gpu") or {}).get("untold") or {}).get("gpu_power_w")
    told = [one for one in own if one.get("gpu_index") is not None]
    if window is None or not told:
        why = tell_missing(point, own, "gpu", "gpu_power_w", window)
    elif untold:
        why = str(untold)
    else:
        period_s = finite((point.get("sampling") or {}).get("period_s"))
        devices = {(one["gpu_index"], one.get("mig_index")) for one in told}
        total = 0.0
        for device in sorted(devices, key=str):
            rows = [one for one in told if (one["gpu_index"], one.get("mig_index")) == device]
            joules, why = _measure(rows, window, period_s)
            if joules is None:
                why = f"GPU {device[0]}: {why}"
                break
            total += joules
        else:
            return {"gpu_energy_j": total}
    reasons["gpu_energy_j"] = why
    return {"gpu_energy_j": None}


def per_token(
    joules: float | None,
    ok: Sequence[Row],
    measured: Sequence[Row],
    row: Row,
    cost: Mapping[str, Any],
    reasons: Row,
    *,
    scheduled: bool = False,
) -> Row:
    """Return J per output and per good token, and the price of a million good ones.

    The price is price_per_hour * duration_s / 3600 / good tokens * 1e6. None has its reason added.
    """
    result: Row = dict.fromkeys((*ENERGY[1:], PRICE))
    price = cost.get("price_per_hour")
    result["price_currency"] = cost.get("currency") if price is not None else None
    limits = {name: limit for name in LIMITS if (limit := row["slo"].get(name)) is not None}
    good = [
        request
        for request, one in zip(ok, measured, strict=True)
        if not limits or meets(one, limits, scheduled=scheduled)
    ]
    output_tokens, why_output = _count(ok, "no request succeeded")
    good_tokens, why_good = _count(good, "no request met the SLO" if ok else "no request succeeded")
    for name, tokens, why in ((ENERGY[1], output_tokens, why_output),
                              (ENERGY[2], good_tokens, why_good)):  # fmt: skip
        if joules is None:
            reasons[name] = reasons["gpu_energy_j"]
        elif tokens is None:
            reasons[name] = why
        else:
            result[name] = joules / tokens
    if price is None:
        reasons[PRICE] = reasons["price_currency"] = "no cost.price_per_hour was given"
    elif good_tokens is None or row["duration_s"] is None:
        reasons[PRICE] = why_good or reasons["duration_s"]
    else:
        result[PRICE] = price * row["duration_s"] / 3600 / good_tokens * 1e6
    return result


def _count(requests: Sequence[Row], none: str) -> tuple[int | None, str]:
    tokens = [one.get("completion_tokens") for one in requests]
    known = [number for number in tokens if number is not None]
    if len(known) < len(tokens):
        return (
            None,
            f"{len(tokens) - len(known)} of {len(tokens)} requests do not tell their tokens",
        )
    return (sum(known), "") if sum(known) else (None, none)


def _measure(
    rows: Sequence[Row], window: Window, period_s: float | None
) -> tuple[float | None, str]:
    """Return the J of one GPU: its own counter's growth, else the integral of its power."""
    counter = pairs(rows, "gpu_energy_total_j")
    if len(counter) > 1 and all(old[1] <= new[1] for old, new in pairwise(counter)):
        ends = [_interpolate(counter, at_s, period_s) for at_s in window]
        if ends[0] is not None and ends[1] is not None:
            return ends[1] - ends[0], ""
    power = pairs(rows, "gpu_power_w")
    if len(power) < 2:
        return None, "fewer than two samples tell its power"
    ends = [_interpolate(power, at_s, period_s) for at_s in window]
    if ends[0] is None or ends[1] is None:
        return None, "no samples of its power stand close on both sides of an end of the load"
    inside = [one for one in power if window[0] < one[0] < window[1]]
    line = [(window[0], ends[0]), *inside, (window[1], ends[1])]
    longest_s = max(new[0] - old[0] for old, new in pairwise(line))
    if period_s is not None and longest_s > MAX_GAP_PERIODS * period_s:
        return None, (
            f"its power was not sampled for {longest_s:.3g} s, more than {MAX_GAP_PERIODS} periods "
            f"of {period_s:g} s"
        )
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(line)), ""


def _interpolate(
    series: Sequence[tuple[float, float]], at_s: float, period_s: float | None
) -> float | None:
    """Return the value at a moment, None where no two samples enclose it closely."""
    for (before_s, before), (after_s, after) in pairwise(series):
        if before_s <= at_s <= after_s:
            span_s = after_s - before_s
            if period_s is not None and span_s > MAX_GAP_PERIODS * period_s:
                return None
            return before + (after - before) * ((at_s - before_s) / span_s if span_s else 0.0)
    return None
