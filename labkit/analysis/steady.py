"""The part of a point in which its load was full, and what happened in it.

Ramp-up and tail are left out here: output throughput over the steady part stands beside that over
the whole run, and latency is watched for a drift inside it. definitions.py defines each. This
module must not judge what it finds.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.analysis.statistics import trend_probability

MIN_SHARE = 0.10
"""Of the whole run; a steady part below it says little about the run."""
MIN_OCCUPANCY = 0.90
MIN_DRIFT_N = 20

Row = dict[str, Any]
Window = tuple[float, float]


def find_window(
    requests: Sequence[Row], max_concurrency: int | None, *, scheduled: bool
) -> tuple[Window | None, str]:
    """Return (start, end) of the time in which the load was full, or (None, the reason)."""
    if scheduled:
        due = [one["intended_at_s"] for one in requests if one.get("intended_at_s") is not None]
        if not due:
            return None, "the records do not tell intended_at_s"
        return (min(due), max(due)), ""
    if max_concurrency is None:
        return None, "the load does not tell max_concurrency"
    stamps = [
        (one["sent_at_s"], one["finished_at_s"])
        for one in requests
        if one.get("sent_at_s") is not None and one.get("finished_at_s") is not None
    ]
    pairs = np.array(stamps, dtype=float).reshape(-1, 2)
    times, level = _count_in_flight(pairs)
    full = np.flatnonzero(level >= max_concurrency)
    if not full.size:
        return None, f"there were never {max_concurrency} requests in flight at once"
    start = float(times[full[0]])
    after = pairs[:, 1][pairs[:, 1] > pairs[:, 0].max()]
    end = float(after.min()) if after.size else start
    if end <= start:
        return None, "a slot was left idle as soon as all were in use"
    inside = (times >= start) & (times < end)
    widths = np.diff(np.append(times[inside], end))
    occupancy = float((level[inside] * widths).sum()) / (max_concurrency * (end - start))
    if occupancy < MIN_OCCUPANCY:
        return None, (
            f"only {occupancy:.0%} of max_concurrency was in flight on average while there were "
            "requests to send"
        )
    return (start, end), ""


def _count_in_flight(pairs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the moments at which a request is sent or ends, and how many are in flight then."""
    times = pairs.T.ravel()
    steps = np.repeat(np.array([1, -1]), len(pairs))
    order = np.lexsort((steps, times))
    return times[order], np.cumsum(steps[order])


def count_tokens(ok: Sequence[Row], window: Window) -> float:
    """Return completion tokens inside a window, each chunk with its share at its own stamp."""
    total = 0.0
    for request in ok:
        stamps = request.get("chunk_at_s")
        if not stamps:
            continue
        low, high = bisect_left(stamps, window[0]), bisect_right(stamps, window[1])
        shares = request.get("chunk_tokens")
        if shares is not None and len(shares) == len(stamps) and sum(shares):
            total += request["completion_tokens"] * sum(shares[low:high]) / sum(shares)
        else:
            total += request["completion_tokens"] * float(high - low) / len(stamps)
    return total


def steady_throughput(
    ok: Sequence[Row], window: Window | None, why: str, duration_s: float | None, reasons: Row
) -> Row:
    """Return the steady output throughput and how long its window is; `why` it has none."""
    name = "steady_output_throughput_tokens_per_s"
    result: Row = {name: None, "steady_window_s": None}
    if window is None:
        reasons[name] = reasons["steady_window_s"] = why
        return result
    width = result["steady_window_s"] = window[1] - window[0]
    untold = sum(1 for one in ok if one.get("completion_tokens") is None)
    if untold:
        reasons[name] = f"{untold} of {len(ok)} ok requests do not tell their tokens"
    elif not ok:
        reasons[name] = "no request succeeded"
    elif width <= 0 or width < MIN_SHARE * (duration_s or 0.0):
        reasons[name] = f"the load was full for {width:.3g} s of {duration_s or 0.0:.3g} s only"
    else:
        result[name] = count_tokens(ok, window) / width
    return result


def find_drift(
    ok: Sequence[Row], measured: Sequence[Row], window: Window | None, why: str, *, scheduled: bool
) -> tuple[Row | None, str]:
    """Return how end-to-end latency moved over the requests sent in the window, or the reason.

    Of a task only the first step counts: the later ones carry a longer conversation by design.
    """
    if window is None:
        return None, why
    field = "e2e_latency_intended_s" if scheduled else "e2e_latency_s"
    start, end = window
    found = sorted(
        (request["sent_at_s"], latency[field])
        for request, latency in zip(ok, measured, strict=True)
        if latency[field] is not None
        and not request.get("step")
        and start <= request["intended_at_s" if scheduled else "sent_at_s"] <= end
    )
    if len(found) < MIN_DRIFT_N:
        return None, f"{len(found)} requests began in the steady part, fewer than {MIN_DRIFT_N}"
    values = [latency for _, latency in found]
    half = len(values) // 2
    return {
        "first_s": median(values[:half]),
        "second_s": median(values[-half:]),
        "p_value": trend_probability(values),
        "n": len(values),
    }, ""
