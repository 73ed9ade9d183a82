"""Faults that lie with the load: the client's pace, errors, too few requests, a growing queue.

It reads one row at a time and must not know about sweeps.
"""

from labkit.analysis import words
from labkit.analysis.diagnosis.rule import Evidence, Match, Row, Rule, cite, find_knob
from labkit.analysis.fidelity import doubt_client, find_broken_schedule
from labkit.analysis.row import read
from labkit.analysis.schedule import is_scheduled
from labkit.analysis.validity import MAX_ERROR_SHARE

MIN_BUSY = 0.8
MAX_P_VALUE = 0.01
MIN_GROWTH = 2.0
"""Requests by which the queue must have grown over the samples."""
MAX_FILL = 0.5
MIN_SAMPLES = 5
_FIELDS = {
    "the client's event loop": "client_stall_s.p99",
    "the client sent late": "send_lag_s.p99",
    "free slots waited": "send_lag_s.p99",
    "the requests went out": "sent_span_s",
    "the client's busiest": "client_busiest_cores",
    "the client used": "client_cpu_s",
    "the client sent": "client_load.requests_share",
    "the client read": "client_load.chunks_share",
}
_STALL = "client_stall_s.p99"


def check_client(row: Row) -> Match | None:
    """Find a client that was itself the limit; loop stalls alone may come from any neighbour."""
    if row.get("num_ok") is None or "send_lag_s" not in row:
        return None
    found = [
        Evidence(text, name, read(row, name))
        for text in (*find_broken_schedule(row), *doubt_client(row))
        for name in [next(name for start, name in _FIELDS.items() if text.startswith(start))]
    ]
    if not any(one.field != _STALL for one in found):
        return None
    broken = bool(find_broken_schedule(row))
    cause = (
        "The client did not send the load that was asked, so what the engine got was the client's "
        "own pace."
        if broken
        else "The client worked near its own limit, so the numbers may be its own, not the "
        "engine's."
    )
    return Match(cause, "high" if broken or len(found) > 1 else "medium", tuple(found))


def check_errors(row: Row) -> Match | None:
    """Find more errors than a measurement bears."""
    total, failed = row.get("num_requests") or 0, row.get("num_error") or 0
    if not total or failed <= MAX_ERROR_SHARE * total:
        return None
    kinds = [
        Evidence(f"{kind}: {number} of {total} requests", "error_kinds", number)
        for kind, number in sorted(row["error_kinds"].items(), key=lambda one: -one[1])
    ]
    first = Evidence(
        f"{failed} of {total} requests failed, {words.percent(failed / total)}", "num_error", failed
    )
    cause = (
        f"Most errors are {max(row['error_kinds'], key=row['error_kinds'].get)}." if kinds else ""
    )
    cause = f"So many requests failed that the rest is another load than the one asked. {cause}"
    return Match(cause.strip(), "high", (first, *kinds))


def check_false_health(row: Row) -> Match | None:
    """Find a busy engine whose queue grows; in a closed loop a queue cannot grow without end."""
    growth = row.get("queue_growth_per_s")
    if not growth or not is_scheduled(row) or growth["p_value"] >= MAX_P_VALUE:
        return None
    if growth["slope"] * growth["span_s"] < MIN_GROWTH:
        return None
    busy = _find_busy(row)
    if busy is None:
        return None
    told = Evidence(
        f"the queue grew by {words.number(growth['slope'])} requests a second over "
        f"{words.seconds(growth['span_s'])} (p {growth['p_value']:.1g}, {growth['n']} samples)",
        "queue_growth_per_s.slope",
        growth["slope"],
    )
    cause = (
        "The machine looks healthy because it is busy, but more requests come than it serves: "
        "utilisation says nothing of the queue."
    )
    return Match(cause, "high", (told, busy))


def _find_busy(row: Row) -> Evidence | None:
    gpu = read(row, "gpu_utilization.mean")
    if gpu is not None:
        text = f"the GPU was busy {words.percent(gpu)} of the time"
        return cite(row, "gpu_utilization.mean", text) if gpu >= MIN_BUSY else None
    cores = read(row, "engine_cpu_utilization.mean")
    threads = find_knob(row, "num_threads") or 1
    if cores is None or cores < MIN_BUSY * threads:
        return None
    text = f"the engine used {words.number(cores)} cores of {threads} threads"
    return cite(row, "engine_cpu_utilization.mean", text)


def check_fill(row: Row) -> Match | None:
    """Find a batch that stayed half empty with nobody waiting, where the load was not swept."""
    limit = find_knob(row, "max_num_seqs")
    running, waiting = row.get("num_requests_running"), row.get("num_requests_waiting")
    swept = str(row.get("variable") or "").partition(".")[0]
    if swept != "engine" or not limit or not running or not waiting:
        return None
    if running["n"] < MIN_SAMPLES or waiting["max"] > 0 or running["max"] > MAX_FILL * limit:
        return None
    evidence = (
        cite(row, "num_requests_running.max", f"at most {running['max']:g} of {limit} ran at once"),
        cite(row, "num_requests_waiting.max", "no request ever waited"),
    )
    cause = "The load, not max_num_seqs, is the limit: raising max_num_seqs can do nothing here."
    return Match(cause, "high", evidence)


CLIENT_BOUND = Rule(
    "client_bound",
    "The client is the limit",
    0,
    "timeline",
    "Believe no number of this point. Lower load.request_rate_per_s or load.max_concurrency, or "
    "raise load.num_workers and give the client cores of its own; then measure again.",
    check=check_client,
    explains_invalid=True,
)
ERROR_STORM = Rule(
    "error_storm",
    "Too many requests fail",
    2,
    "timeline",
    "Send one smallest request by hand and read its answer and the engine's log. Cure the most "
    "frequent kind first; then add load step by step.",
    check=check_errors,
    explains_invalid=True,
)
FALSE_HEALTH = Rule(
    "false_health",
    "Busy, but the queue grows",
    7,
    "pressure",
    "Lower load.request_rate_per_s until the queue stands still: that is what this set-up serves. "
    "To serve more, first raise max_num_seqs while the KV pool has room, then "
    "max_num_batched_tokens; then add a replica.",
    check=check_false_health,
)
UNDER_FILLED_BATCH = Rule(
    "under_filled_batch",
    "The batch is half empty",
    10,
    "pressure",
    "Leave max_num_seqs. Raise load.max_concurrency or load.request_rate_per_s until requests "
    "wait; only then can max_num_seqs show what it does.",
    check=check_fill,
)
