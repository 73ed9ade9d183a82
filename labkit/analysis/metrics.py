"""One row of the summary: every metric of one point, put together from the modules beside it.

definitions.py says what each is. It must not know how a run is made or drawn.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from labkit.analysis.ceiling import ceiling
from labkit.analysis.energy import energy, per_token
from labkit.analysis.errors import find_examples
from labkit.analysis.gauges import Window, hit_rate, sampled
from labkit.analysis.gpu_state import gpu_state
from labkit.analysis.inside import time_inside
from labkit.analysis.interference import interference
from labkit.analysis.kv_memory import kv_memory
from labkit.analysis.latencies import latencies, measure, pool_gaps
from labkit.analysis.misses import misses
from labkit.analysis.notes import take_notes
from labkit.analysis.phases import phases
from labkit.analysis.rates import json_share, lengths, rates, span_of
from labkit.analysis.sampling import sampling
from labkit.analysis.schedule import is_scheduled, schedule
from labkit.analysis.series import finite
from labkit.analysis.steady import find_drift, find_window, steady_throughput
from labkit.analysis.trend import queue_growth
from labkit.analysis.validity import judge_point
from labkit.records import PointRecords

_ORDER = (
    "intended_at_s",
    "released_at_s",
    "sent_at_s",
    "headers_at_s",
    "first_token_at_s",
    "last_token_at_s",
    "finished_at_s",
)

Row = dict[str, Any]


def request_metrics(record: Mapping[str, Any], *, scheduled: bool = False) -> Row:
    """Return the latencies of one request and itl_s, a list; None for each that is untold.

    `scheduled` says that the load was open or a trace, so that an intended time means something.
    """
    return {**measure(record, scheduled=scheduled), "itl_s": pool_gaps([record]).tolist()}


def summarize_point(
    records: PointRecords,
    slo: Mapping[str, float | None] | None = None,
    *,
    cores: float | None = None,
    cost: Mapping[str, Any] | None = None,
) -> Row:
    """Return one row of summary.json["points"]; each None has its reason in row["null_reasons"].

    `slo` maps ttft_s, tpot_s and e2e_latency_s to a limit in s or None; `cores` are those of the
    host, `cost` the params' section. Raises nothing for a point that failed: its row says so.
    """
    point, requests = records.point, records.requests
    ok = [request for request in requests if request.get("status") == "ok"]
    scheduled = is_scheduled(point)
    reasons: Row = {}
    row = _identity(records)
    row.update(_counts(requests, ok))
    measured = [measure(request, scheduled=scheduled) for request in ok]
    error = point.get("error")
    row.update(latencies(requests, ok, measured, scheduled=scheduled, error=error, reasons=reasons))
    row.update(schedule(requests, scheduled=scheduled, reasons=reasons))
    row.update(lengths(ok, point, reasons))
    row.update(json_share(ok, reasons))
    row.update(rates(requests, ok, measured, slo or {}, reasons, scheduled=scheduled))
    row.update(misses(requests, ok, measured, row["slo"], reasons, scheduled=scheduled))
    row.update(_steady(requests, ok, measured, row, reasons))
    window = _window(point, requests)
    gauges, missing = sampled(point, records.samples, window)
    row.update(gauges)
    reasons.update(missing)
    row.update(time_inside(point, records.samples, row["ttft_s"], window, reasons))
    row.update(kv_memory(point, row, reasons))
    row.update(phases(ok, requests, row, reasons))
    row.update(queue_growth(point, records.samples, requests, window, reasons))
    row.update(energy(point, records.samples, window, reasons))
    row.update(
        per_token(row["gpu_energy_j"], ok, measured, row, cost or {}, reasons, scheduled=scheduled)
    )
    row.update(gpu_state(point, records.samples, window, reasons))
    row.update(sampling(point, records.samples, window, reasons))
    row.update(interference(row, cores, reasons))
    row["prefix_cache_hit_rate"], source = hit_rate(records.samples, ok, window)
    row["prefix_cache_hit_rate_source"] = None if row["prefix_cache_hit_rate"] is None else source
    if row["prefix_cache_hit_rate"] is None:
        reasons["prefix_cache_hit_rate"] = source
    row.update(ceiling(records, row["duration_s"], reasons))
    if row["startup_s"] is None:
        reasons["startup_s"] = "the engine was up before this point, or never came up"
    row["null_reasons"] = reasons
    row["notes"] = take_notes(row, point, ok)
    row["validity"], row["validity_reasons"] = judge_point(row, point)
    return row


def _identity(records: PointRecords) -> Row:
    point = records.point
    started, ready = finite(point.get("started_at_s")), finite(point.get("ready_at_s"))
    return {
        "point_id": records.point_id,
        "index": point.get("index"),
        "variable": point.get("variable"),
        "value": point.get("value"),
        "series": point.get("series"),
        "repeat": point.get("repeat"),
        "seed": point.get("seed"),
        "status": point.get("status"),
        "error": point.get("error"),
        "error_kind": point.get("error_kind"),
        "stepped_down": list(point.get("stepped_down") or []),
        "asked": {k: v for k, v in (point.get("engine") or {}).items() if v is not None},
        "effective": dict(point.get("effective") or {}),
        "workload": dict(point.get("workload") or {}),
        "load": dict(point.get("load") or {}),
        "startup_s": None if started is None or ready is None else ready - started,
    }


def _counts(requests: Sequence[Row], ok: Sequence[Row]) -> Row:
    failed = [request for request in requests if request.get("status") != "ok"]
    finishes = Counter(str(request.get("finish_reason") or "unknown") for request in ok)
    kinds = Counter(str(request.get("error_kind") or "unknown") for request in failed)
    return {
        "num_requests": len(requests),
        "num_ok": len(ok),
        "num_error": len(failed),
        "num_dropped": sum(1 for request in requests if request.get("sent_at_s") is None),
        "finish_reasons": dict(sorted(finishes.items())),
        "error_kinds": dict(sorted(kinds.items())),
        "error_examples": find_examples(failed),
        "num_stamp_faults": sum(1 for request in ok if not _in_order(request)),
    }


def _in_order(request: Row) -> bool:
    stamps = [request[name] for name in _ORDER if request.get(name) is not None]
    return all(before <= after for before, after in pairwise(stamps))


def _steady(
    requests: Sequence[Row], ok: Sequence[Row], measured: Sequence[Row], row: Row, reasons: Row
) -> Row:
    scheduled = is_scheduled(row)
    window, why = find_window(requests, row["load"].get("max_concurrency"), scheduled=scheduled)
    result = steady_throughput(ok, window, why, row["duration_s"], reasons)
    if row["load"].get("ramp_to_per_s") is not None:
        drift, why = None, "the arrival rate was meant to change within the point"
    else:
        drift, why = find_drift(ok, measured, window, why, scheduled=scheduled)
    if drift is None:
        reasons["latency_drift"] = why
    return {**result, "latency_drift": drift}


def _window(point: Row, requests: Sequence[Row]) -> Window | None:
    start, end = finite(point.get("load_started_at_s")), finite(point.get("load_ended_at_s"))
    span = span_of(requests)
    if start is None:
        return span
    if end is None:
        end = span[1] if span else start
    return (start, max(start, end))
