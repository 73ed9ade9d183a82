"""What the engine timed by its own clock over the load, and how large its KV cache is.

definitions.py defines each figure. It must not know how an engine names its histograms, nor judge a
time.
"""

from collections.abc import Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.gauges import Window, tell_missing
from labkit.analysis.series import finite, increase, pairs

TIMES = ("engine_ttft_s", "engine_queue_time_s", "engine_prefill_time_s", "engine_decode_time_s")
CAPACITIES = ("kv_cache_capacity_tokens", "kv_cache_capacity_bytes")
MAX_COUNT_DEVIATION = 0.05
"""Means over counts that lie further apart, as a share of the larger, are not of the same
requests."""

Row = dict[str, Any]


def time_inside(
    point: Row, samples: Sequence[Row], ttft: Row | None, window: Window | None, reasons: Row
) -> Row:
    """Return TIMES as {"mean", "n"}, CAPACITIES, and client_ttft_overhead_s.

    `ttft` is the client's distribution, `window` the load; what is None has its reason added.
    """
    own = [sample for sample in samples if sample.get("source") == "engine"]
    result: Row = {}
    for name in TIMES:
        result[name], why = _mean(point, own, name, window)
        if result[name] is None:
            reasons[name] = why
    for name in CAPACITIES:
        result[name] = _last(own, name, window)
        if result[name] is None:
            reasons[name] = tell_missing(point, own, "engine", name, window)
    told, why = _compare(ttft, result["engine_ttft_s"], reasons)
    result["client_ttft_overhead_s"] = told
    if told is None:
        reasons["client_ttft_overhead_s"] = why
    return result


def _mean(
    point: Row, samples: Sequence[Row], name: str, window: Window | None
) -> tuple[Row | None, str]:
    total, count = f"{name}_sum", f"{name.removesuffix('_s')}_count"
    both = [one for one in samples if None not in (finite(one.get(total)), finite(one.get(count)))]
    seconds = increase(pairs(both, total), *window) if window else None
    number = increase(pairs(both, count), *window) if window else None
    if seconds is None or number is None:
        why = tell_missing(point, both or samples, "engine", count, window, counter=True)
        return None, why
    if seconds[1] != number[1]:
        return None, "the engine's counters went back, and not all of them alike"
    if number[0] <= 0:
        return None, "the engine timed no request during the load"
    return {"mean": seconds[0] / number[0], "n": round(number[0])}, ""


def _last(samples: Sequence[Row], name: str, window: Window | None) -> int | None:
    if window is None:
        return None
    inside = [value for at, value in pairs(samples, name) if window[0] <= at <= window[1]]
    return round(inside[-1]) if inside else None


def _compare(ttft: Row | None, inside: Row | None, reasons: Row) -> tuple[float | None, str]:
    """Return the client's mean minus the engine's, where both are of the same requests."""
    if ttft is None or inside is None:
        return None, str(reasons["ttft_s" if ttft is None else "engine_ttft_s"])
    client, engine = int(ttft["n"]), int(inside["n"])
    if abs(client - engine) > MAX_COUNT_DEVIATION * max(client, engine):
        return None, (
            f"the engine timed {engine} first tokens and the client {client}, more than "
            f"{words.percent(MAX_COUNT_DEVIATION)} apart: warm-up and failed requests count in "
            "the engine only"
        )
    return float(ttft["mean"]) - float(inside["mean"]), ""
