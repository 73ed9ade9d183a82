"""Every metric, defined once. All stamps come from one monotonic clock, read at the socket.

ttft_s          first non-empty text, reasoning or tool delta - send.
tpot_s          (last token - first token) / (completion tokens - tokens in the first chunk), one
                number a request. The first chunk counts as one token unless `chunk_tokens` tells.
                None for a request whose text came in one chunk: it has no gap to measure.
itl_s           the gaps between chunks, all requests pooled. A chunk may hold several tokens.
e2e_latency_s   last token - send.
ttft_intended_s, e2e_latency_intended_s     the same from the moment that the schedule meant the
                request to be sent, so the wait for a slot and the client's own lag are in them.
                Open loop and trace only: a closed loop and a static batch have no such moment.
slot_wait_s     released - intended: the wait for one of max_concurrency slots. Open loop and trace.
send_lag_s      sent - released: what the client itself took, over all requests that were sent.
task_latency_s  first send - last token of a task, over tasks whose every step is ok.
duration_s      first request sent - last request finished, failed requests included.
request_throughput_per_s            ok requests / duration_s.
output_throughput_tokens_per_s      completion tokens of ok requests / duration_s.
total_throughput_tokens_per_s       prompt and completion tokens of ok requests / duration_s.
steady_output_throughput_tokens_per_s   completion tokens of ok requests that came inside the
                steady window / its length; each chunk counts at its own stamp, with an equal share
                of its request's tokens unless `chunk_tokens` tells. None where the window is under
                a tenth of duration_s.
steady_window_s how long the load was full. Closed loop and static batch: from the moment at which
                max_concurrency requests are in flight to the first slot left idle for good, told
                only if 90 % of the slots were in use on average. Open loop and trace: from the
                first to the last intended time.
latency_drift   the median end-to-end latency (from the intended time, if there is one) of the first
                and the second half of the requests begun in the steady window, in the order sent,
                with the two-sided p_value of Spearman's rank correlation of latency and order. Of a
                task only the first step counts. None below 20 requests.
offered_rate_per_s      (requests - 1) / (last - first intended time). Open loop and trace.
achieved_rate_per_s     (requests sent - 1) / (last - first send). Open loop and trace.
released_span_s, sent_span_s    first to last release, and first to last send. Open loop and trace.
goodput_per_s   ok requests that meet every limit of the SLO / duration_s. A failed request is a
                miss, and so is one without a first token. Without a gap, the tpot limit is met. In
                open loop and trace TTFT and end-to-end latency count from the intended time.
slo_attainment  requests that meet every limit of the SLO / all requests.
num_dropped     requests that were never sent, such as the steps of a task after one that failed.
kv_cache_usage  share of the KV cache in use, 0..1, as the engine reports it.
num_requests_running    requests that have a place in the engine, in prefill or in decode.
num_requests_waiting    requests that the engine has accepted and given no place yet. llama.cpp
                tells both as they were when its present step began: a request that came during a
                long prefill is in neither until that step ends.
kv_cache_capacity_tokens, kv_cache_capacity_bytes   how much the KV cache of the engine holds, as it
                tells last during the load.
engine_ttft_s, engine_queue_time_s, engine_prefill_time_s, engine_decode_time_s     means of what
                the engine timed by its own clock, with their count: from a request's arrival to its
                first token; its wait for a place; from its place to the first token; from the first
                to the last token. The increase of the sum of the engine's histogram over the load /
                the increase of its count, so a failed request that the engine timed is in them.
client_ttft_overhead_s  mean ttft_s - mean engine_ttft_s: what lies between the two clocks, which is
                the network, HTTP, what the server does before it counts a request as arrived and
                after its first token, and the client itself. None where the counts of the two are
                more than 5 % apart: the means would not be of the same requests.
stepped_down    settings that ran lower than asked, as the engine ran out of memory. The point is
                SUSPECT, and INVALID where the swept setting itself was lowered.
error_kind      what ended a point, as its engine's log tells it.
gpu_energy_j    joules of all sampled GPUs over the load: the growth of the driver's counter, else
                the integral of the sampled power. None where samples are missing or more than 3
                periods apart. What failed requests and idle moments took is in it.
energy_per_output_token_j, energy_per_good_token_j      gpu_energy_j / completion tokens of ok
                requests, and of those that meet the SLO (without one: of all ok requests).
price_per_million_good_tokens   cost.price_per_hour * duration_s / 3600 / good tokens * 1e6.
gpu_state       throttle_reasons: share of samples in which NVML named a limit on the clocks;
                ecc_errors: uncorrected memory errors that came; foreign_processes: others than the
                engine's on the GPU, SUSPECT above 1 GiB, None where they can't be told apart.
sampling_*      per source: how far samples were off their period (jitter), gaps of over 3 periods,
                and cores: CPU time of its thread / the time it sampled, warm-up included.
num_preemptions times the engine pushed a running request back, over the load.
prefix_cache_hit_rate   prompt tokens served from cache / prompt tokens looked up, over the load.
gpu_*, host_*, engine_memory_bytes, client_memory_bytes     samples of NVML and the operating
                system; gpu_utilization and host_cpu_utilization as a share 0..1.
engine_cpu_utilization, client_cpu_utilization  cores that they used.
host_cores      the cores that host_cpu_utilization is a share of.
foreign_cpu_cores       cores that neither engine nor client used: host_cpu_utilization * host_cores
                - engine - client, means over the load. None where the engine is not on this host.
client_cpu_s    CPU time of all workers of the load client, over the load.
client_busiest_cores    CPU time of the busiest worker / time of the load.
client_stall_s  how late a 20 ms tick of the client's event loops came: max, p99 and n.
client_load     requests sent and chunks read a second over duration_s, each also as a share of what
                a self-test of the client reached on this machine, worker by worker.

Latencies are linear-interpolated percentiles over ok requests with n beside them. Gauges are
time-weighted means and maxima of the samples inside the load. What was not measured is None with
a reason, never 0. This module must not know how a run is made or drawn.
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
from labkit.analysis.latencies import latencies, measure, pool_gaps
from labkit.analysis.notes import take_notes
from labkit.analysis.rates import lengths, rates, span_of
from labkit.analysis.sampling import sampling
from labkit.analysis.schedule import is_scheduled, schedule
from labkit.analysis.series import finite
from labkit.analysis.steady import find_drift, find_window, steady_throughput
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
    row.update(rates(requests, ok, measured, slo or {}, reasons, scheduled=scheduled))
    row.update(_steady(requests, ok, measured, row, reasons))
    window = _window(point, requests)
    gauges, missing = sampled(point, records.samples, window)
    row.update(gauges)
    reasons.update(missing)
    row.update(time_inside(point, records.samples, row["ttft_s"], window, reasons))
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
