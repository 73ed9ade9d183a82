"""The latencies of one request, and their distributions over a point; definitions.py defines each.

It must not know how requests were scheduled beyond whether they were, nor judge a latency.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.analysis.schedule import NO_SCHEDULE
from labkit.analysis.statistics import distribution

INTENDED = ("ttft_intended_s", "e2e_latency_intended_s")
REQUEST_LATENCIES = ("ttft_s", "tpot_s", "e2e_latency_s", *INTENDED)
LATENCIES = ("ttft_s", "tpot_s", "itl_s", "e2e_latency_s", *INTENDED, "task_latency_s")

Row = dict[str, Any]


def measure(record: Mapping[str, Any], *, scheduled: bool) -> Row:
    """Return REQUEST_LATENCIES of one request, None for each that cannot be told."""
    sent, first = record.get("sent_at_s"), record.get("first_token_at_s")
    last, tokens = record.get("last_token_at_s"), record.get("completion_tokens")
    intended = record.get("intended_at_s") if scheduled else None
    tpot = None
    if first is not None and last is not None and last > first and tokens is not None:
        rest = tokens - (record.get("chunk_tokens") or [1])[0]
        tpot = (last - first) / rest if rest > 0 else None
    return {
        "ttft_s": _between(sent, first),
        "tpot_s": tpot,
        "e2e_latency_s": _between(sent, last),
        "ttft_intended_s": _between(intended, first),
        "e2e_latency_intended_s": _between(intended, last),
    }


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def pool_gaps(requests: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Return the gaps between the chunks of every request, in one array and nothing beside it."""
    stamps = [
        np.asarray(chunks, dtype=float)
        for request in requests
        if len(chunks := request.get("chunk_at_s") or ()) > 1
    ]
    gaps = np.empty(sum(len(one) - 1 for one in stamps))
    begin = 0
    for one in stamps:
        end = begin + len(one) - 1
        np.subtract(one[1:], one[:-1], out=gaps[begin:end])
        begin = end
    return gaps


def find_tasks(requests: Sequence[Mapping[str, Any]]) -> tuple[int, list[float]]:
    """Return how many tasks there are, and the latency of each whose every step is ok."""
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for request in requests:
        if request.get("task_id") is not None:
            tasks.setdefault(request["task_id"], []).append(request)
    found = []
    for steps in tasks.values():
        sent = [one["sent_at_s"] for one in steps if one.get("sent_at_s") is not None]
        last = [one["last_token_at_s"] for one in steps if one.get("last_token_at_s") is not None]
        if all(one.get("status") == "ok" for one in steps) and sent and last:
            found.append(max(last) - min(sent))
    return len(tasks), found


def latencies(
    requests: Sequence[Row],
    ok: Sequence[Row],
    measured: Sequence[Row],
    *,
    scheduled: bool,
    error: Any,
    reasons: Row,
) -> Row:
    """Return LATENCIES as distributions; `measured` is of `ok`, `error` what ended the point."""
    result: Row = {}
    num_tasks, tasks = find_tasks(requests)
    for name in LATENCIES:
        if name == "itl_s":
            result[name] = distribution(pool_gaps(ok))
        elif name == "task_latency_s":
            result[name] = distribution(tasks)
        else:
            result[name] = distribution([one[name] for one in measured if one[name] is not None])
        if result[name] is not None:
            continue
        if name in INTENDED and not scheduled:
            reasons[name] = NO_SCHEDULE
        elif not requests:
            reasons[name] = f"no request was recorded: {error or 'none was sent'}"
        elif name == "task_latency_s":
            reasons[name] = (
                f"none of {num_tasks} tasks has every step ok"
                if num_tasks
                else "the requests belong to no task"
            )
        elif not measured:
            reasons[name] = "no request succeeded"
        elif name in ("tpot_s", "itl_s"):
            reasons[name] = "every answer came in one chunk, so there is no gap to measure"
        else:
            reasons[name] = "no ok request has the stamps for it"
    return result
