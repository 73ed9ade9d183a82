"""When requests were due, released by the schedule and a free slot, and really sent.

Only an open loop or a trace has a schedule: in a closed loop and a static batch a request is due
when a slot is free, so nothing is derived from its intended time there. definitions.py defines each
figure. This module must not know about answers, engines or verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labkit.analysis.statistics import distribution

SCHEDULED_MODES = ("open", "trace")
WAITS = ("slot_wait_s", "send_lag_s")
RATES = ("offered_rate_per_s", "achieved_rate_per_s")
SPANS = ("released_span_s", "sent_span_s")
FROM_INTENDED = {"ttft_s": "ttft_intended_s", "e2e_latency_s": "e2e_latency_intended_s"}
"""What a user of a scheduled load waits for, in place of the latency from the send."""
NO_SCHEDULE = "closed loop has no intended time"
_UNTOLD = {
    "released_at_s": "the records do not tell released_at_s",
    "intended_at_s": "the records do not tell intended_at_s",
    "sent_at_s": "no request was sent",
}

Row = dict[str, Any]


def is_scheduled(row: Mapping[str, Any]) -> bool:
    """Tell whether a point, or its row of the summary, had requests with times of their own."""
    return (row.get("load") or {}).get("mode") in SCHEDULED_MODES


def name_latency(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the latency to show of these rows: from the intended time where all have a schedule.

    Rows with and without a schedule have only the latency from the send in common.
    """
    return FROM_INTENDED.get(name, name) if rows and all(map(is_scheduled, rows)) else name


def schedule(requests: Sequence[Row], *, scheduled: bool, reasons: Row) -> Row:
    """Return the waits, rates and spans of the requests that were sent; each None has a reason."""
    sent = [request for request in requests if request.get("sent_at_s") is not None]
    result: Row = {}
    for name, before, after in (
        ("slot_wait_s", "intended_at_s", "released_at_s"),
        ("send_lag_s", "released_at_s", "sent_at_s"),
    ):
        result[name] = None
        if name == "slot_wait_s" and not scheduled:
            reasons[name] = NO_SCHEDULE
        else:
            result[name] = distribution(list(_differences(sent, before, after)))
            if result[name] is None:
                reasons[name] = _UNTOLD["released_at_s"] if sent else _UNTOLD["sent_at_s"]
    for name, stamp in zip(RATES, ("intended_at_s", "sent_at_s"), strict=True):
        result[name] = _rate(requests, stamp, name, scheduled, reasons)
    for name, stamp in zip(SPANS, ("released_at_s", "sent_at_s"), strict=True):
        result[name] = None
        if not scheduled:
            reasons[name] = NO_SCHEDULE
        elif len(stamps := _stamps(sent, stamp)) < 2:
            reasons[name] = "fewer than two requests tell it"
        else:
            result[name] = max(stamps) - min(stamps)
    return result


def _differences(requests: Iterable[Row], before: str, after: str) -> Iterable[float]:
    for request in requests:
        start, end = request.get(before), request.get(after)
        if start is not None and end is not None:
            yield end - start


def _stamps(requests: Iterable[Row], name: str) -> list[float]:
    return [request[name] for request in requests if request.get(name) is not None]


def _rate(
    requests: Sequence[Row], stamp: str, name: str, scheduled: bool, reasons: Row
) -> float | None:
    if not scheduled:
        reasons[name] = NO_SCHEDULE
        return None
    stamps = _stamps(requests, stamp)
    span = max(stamps) - min(stamps) if stamps else 0.0
    if span <= 0:
        reasons[name] = "fewer than two moments are told" if stamps else _UNTOLD[stamp]
        return None
    return (len(stamps) - 1) / span
