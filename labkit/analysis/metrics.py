"""Every metric, defined once. All stamps come from one monotonic clock, read at the socket.

ttft_s          first non-empty text, reasoning or tool delta - send.
tpot_s          (last token - first token) / (completion tokens - tokens in the first chunk), one
                number a request. The first chunk counts as one token unless `chunk_tokens` tells.
                None for a request whose text came in one chunk: it has no gap to measure.
itl_s           the gaps between chunks, all requests pooled. A chunk may hold several tokens.
e2e_latency_s   last token - send.
duration_s      first request sent - last request finished, failed requests included.
request_throughput_per_s            ok requests / duration_s.
output_throughput_tokens_per_s      completion tokens of ok requests / duration_s.
total_throughput_tokens_per_s       prompt and completion tokens of ok requests / duration_s.
goodput_per_s   ok requests that meet every limit of the SLO / duration_s. A failed request is a
                miss, and so is one without a first token. Without a gap, the tpot limit is met.
slo_attainment  requests that meet every limit of the SLO / all requests.
kv_cache_usage  share of the KV cache in use, 0..1, as the engine reports it.
num_requests_waiting, num_requests_running      requests in the engine's queue and in its batch.
num_preemptions times the engine pushed a running request back, over the load.
prefix_cache_hit_rate   prompt tokens served from cache / prompt tokens looked up, over the load.
gpu_*, host_*, engine_*, client_*   samples of NVML and the operating system; *_cpu_utilization of
                engine and client in cores, of the host and gpu_utilization as a share 0..1.

Latencies are linear-interpolated percentiles over ok requests with n beside them. Gauges are
time-weighted means and maxima of the samples inside the load. What was not measured is None with
a reason, never 0. This module must not know how a run is made or drawn.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from labkit.analysis.gauges import Window, hit_rate, sampled
from labkit.analysis.rates import lengths, rates, span_of
from labkit.analysis.series import finite
from labkit.analysis.statistics import QUANTILES, distribution, percentile_supported
from labkit.analysis.validity import MAX_LENGTH_DEVIATION, judge_point
from labkit.records import PointRecords

LATENCIES = ("ttft_s", "tpot_s", "itl_s", "e2e_latency_s")
_ORDER = ("sent_at_s", "headers_at_s", "first_token_at_s", "last_token_at_s", "finished_at_s")

Row = dict[str, Any]


def request_metrics(record: Mapping[str, Any]) -> Row:
    """Return ttft_s, tpot_s, itl_s (a list) and e2e_latency_s of one request; None if untold."""
    sent, first = record.get("sent_at_s"), record.get("first_token_at_s")
    last, tokens = record.get("last_token_at_s"), record.get("completion_tokens")
    chunks = record.get("chunk_at_s") or []
    chunk_tokens = record.get("chunk_tokens") or [1]
    tpot = None
    if first is not None and last is not None and last > first and tokens is not None:
        rest = tokens - chunk_tokens[0]
        tpot = (last - first) / rest if rest > 0 else None
    return {
        "ttft_s": None if sent is None or first is None else first - sent,
        "tpot_s": tpot,
        "itl_s": [after - before for before, after in pairwise(chunks)],
        "e2e_latency_s": None if sent is None or last is None else last - sent,
    }


def summarize_point(records: PointRecords, slo: Mapping[str, float | None] | None = None) -> Row:
    """Return one row of summary.json["points"]; each None has its reason in row["null_reasons"].

    `slo` maps ttft_s, tpot_s and e2e_latency_s to a limit in s or None. Raises nothing for a point
    that failed: its row says so.
    """
    point, requests = records.point, records.requests
    ok = [request for request in requests if request.get("status") == "ok"]
    reasons: Row = {}
    row = _identity(records)
    row.update(_counts(requests, ok))
    measured = [request_metrics(request) for request in ok]
    row.update(_latencies(measured, reasons, bool(requests), point))
    row.update(lengths(ok, point, reasons))
    row.update(rates(requests, ok, measured, slo or {}, reasons))
    window = _window(point, requests)
    gauges, missing = sampled(point, records.samples, window)
    row.update(gauges)
    reasons.update(missing)
    row["prefix_cache_hit_rate"], source = hit_rate(records.samples, ok, window)
    row["prefix_cache_hit_rate_source"] = None if row["prefix_cache_hit_rate"] is None else source
    if row["prefix_cache_hit_rate"] is None:
        reasons["prefix_cache_hit_rate"] = source
    if row["client_cpu_s"] is None:
        reasons["client_cpu_s"] = "the load did not end, so the client did not tell it"
    if row["startup_s"] is None:
        reasons["startup_s"] = "the engine was up before this point, or never came up"
    row["null_reasons"] = reasons
    row["notes"] = _notes(row, ok)
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
        "repeat": point.get("repeat"),
        "seed": point.get("seed"),
        "status": point.get("status"),
        "error": point.get("error"),
        "asked": {k: v for k, v in (point.get("engine") or {}).items() if v is not None},
        "effective": dict(point.get("effective") or {}),
        "workload": dict(point.get("workload") or {}),
        "load": dict(point.get("load") or {}),
        "client_cpu_s": finite(point.get("client_cpu_s")),
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
        "finish_reasons": dict(sorted(finishes.items())),
        "error_kinds": dict(sorted(kinds.items())),
        "num_stamp_faults": sum(1 for request in ok if not _in_order(request)),
    }


def _in_order(request: Row) -> bool:
    stamps = [request[name] for name in _ORDER if request.get(name) is not None]
    return all(before <= after for before, after in pairwise(stamps))


def _latencies(measured: Sequence[Row], reasons: Row, any_sent: bool, point: Row) -> Row:
    result: Row = {}
    for name in LATENCIES:
        if name == "itl_s":
            gaps = chain.from_iterable(one["itl_s"] for one in measured)
            result[name] = distribution(np.fromiter(gaps, dtype=float))
        else:
            result[name] = distribution([one[name] for one in measured if one[name] is not None])
        if result[name] is not None:
            continue
        if not any_sent:
            reasons[name] = f"no request was recorded: {point.get('error') or 'none was sent'}"
        elif not measured:
            reasons[name] = "no request succeeded"
        elif name in ("tpot_s", "itl_s"):
            reasons[name] = "every answer came in one chunk, so there is no gap to measure"
        else:
            reasons[name] = "no ok request has the stamps for it"
    return result


def _window(point: Row, requests: Sequence[Row]) -> Window | None:
    start, end = finite(point.get("load_started_at_s")), finite(point.get("load_ended_at_s"))
    span = span_of(requests)
    if start is None:
        return span
    if end is None:
        end = span[1] if span else start
    return (start, max(start, end))


def _notes(row: Row, ok: Sequence[Row]) -> list[str]:
    notes = []
    for name, quantile in QUANTILES.items():
        needed = round(1 / (1 - quantile))
        low = [field for field in LATENCIES if row[field] and not _enough(row[field], quantile)]
        if low:
            n = min(row[field]["n"] for field in low)
            notes.append(
                f"{name.upper()} of {', '.join(low)} rests on {n} values; below {needed} it is "
                "little more than the largest one"
            )
    if (deviation := row["prompt_tokens_deviation"] or 0.0) > MAX_LENGTH_DEVIATION:
        notes.append(
            f"some prompts are {deviation:.0%} off the length that was asked: another tokenizer, "
            "or a chat template"
        )
    chunks = sum(len(request.get("chunk_at_s") or []) for request in ok)
    tokens = sum(request.get("completion_tokens") or 0 for request in ok)
    if chunks and tokens > 1.05 * chunks:
        notes.append(f"a chunk holds {tokens / chunks:.2f} tokens on average; itl_s is by chunk")
    sources = {str(request.get("tokens_source") or "usage") for request in ok} - {"usage"}
    if sources:
        notes.append(f"token counts of some requests come from {', '.join(sorted(sources))}")
    if row["engine_samples_failed"]:
        notes.append(f"{row['engine_samples_failed']} engine samples failed")
    return notes


def _enough(latency: Row, quantile: float) -> bool:
    return percentile_supported(latency["n"], quantile)
