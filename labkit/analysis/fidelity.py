"""Whether the client sent the load that was drawn, and was never the limit itself.

Each rule reads a row of the summary and returns what is wrong in words, nothing where all is well.
It must not know what the engine made of the load.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words
from labkit.analysis.schedule import is_scheduled

MAX_CLIENT_CORES = 0.9
MAX_CLIENT_SHARE = 0.5
MAX_STALL_P99_S = 0.005
MIN_TICKS = 100
"""Below this a P99 of ticks is the worst one."""
MAX_SPAN_DEVIATION = 0.01
MAX_LAG_S = 0.010
MAX_LAG_SHARE_OF_GAP = 0.5
MAX_LAG_SHARE_OF_LATENCY = 0.05

Row = Mapping[str, Any]


def find_broken_schedule(row: Row) -> list[str]:
    """Return how far an open load or a trace was from its schedule, where that is too far."""
    if not is_scheduled(row):
        return []
    return [*_span(row), *_open_lag(row)]


def doubt_client(row: Row) -> list[str]:
    """Return what makes the client a limit of the measurement."""
    return [*_cores(row), *_share(row), *_stall(row), *_closed_lag(row)]


def _span(row: Row) -> list[str]:
    released, sent = row["released_span_s"], row["sent_span_s"]
    if released is None or sent is None:
        return []
    # a lag that is tolerated for each request is tolerated for the span of all, too
    if abs(sent - released) <= max(MAX_SPAN_DEVIATION * released, MAX_LAG_S):
        return []
    return [
        f"the requests went out over {words.seconds(sent)} where their schedule and the free "
        f"slots asked for {words.seconds(released)}: not the load that was drawn"
    ]


def _open_lag(row: Row) -> list[str]:
    lag, rate = row["send_lag_s"], row["offered_rate_per_s"]
    if lag is None:
        return []
    gap_s = 1 / rate if rate else 0.0
    limit_s = max(MAX_LAG_S, MAX_LAG_SHARE_OF_GAP * gap_s)
    if lag["p99"] <= limit_s:
        return []
    return [
        f"the client sent late: P99 of the send lag is {words.seconds(lag['p99'])}, over "
        f"{words.seconds(limit_s)} (requests came every {words.seconds(gap_s)} on average)"
    ]


def _closed_lag(row: Row) -> list[str]:
    lag, latency = row["send_lag_s"], row["e2e_latency_s"]
    if is_scheduled(row) or lag is None or latency is None:
        return []
    if lag["p99"] <= max(MAX_LAG_S, MAX_LAG_SHARE_OF_LATENCY * latency["p50"]):
        return []
    return [
        f"free slots waited for the client: P99 of the send lag is {words.seconds(lag['p99'])}, "
        f"beside a median latency of {words.seconds(latency['p50'])}"
    ]


def _cores(row: Row) -> list[str]:
    cores, who = row["client_busiest_cores"], "the client's busiest worker"
    if cores is None:
        who = "the client"
        gauge = row["client_cpu_utilization"]
        cores = gauge["mean"] if gauge else None
        if cores is None and row["client_cpu_s"] is not None and row["duration_s"]:
            cores = row["client_cpu_s"] / row["duration_s"]
    if cores is None or cores <= MAX_CLIENT_CORES:
        return []
    return [f"{who} used {cores:.2f} cores: it may have held the load back"]


def _share(row: Row) -> list[str]:
    load, reasons = row["client_load"] or {}, []
    for name, verb in (("requests", "sent"), ("chunks", "read")):
        share = load.get(f"{name}_share")
        if share is not None and share > MAX_CLIENT_SHARE:
            rate = words.per_second(load[f"{name}_per_s"], name)
            reasons.append(
                f"the client {verb} {rate}, {words.percent(share)} of what it can do on this "
                "machine: it may have held the load back"
            )
    return reasons


def _stall(row: Row) -> list[str]:
    stall, ttft = row["client_stall_s"], row["ttft_s"]
    if stall is None or stall["p99"] is None or stall["n"] < MIN_TICKS:
        return []
    limit_s = max(MAX_STALL_P99_S, MAX_LAG_SHARE_OF_LATENCY * (ttft["p50"] if ttft else 0.0))
    if stall["p99"] <= limit_s:
        return []
    worst = "" if stall["max"] is None else f" and {words.seconds(stall['max'])} at worst"
    return [
        f"the client's event loop stalled: P99 {words.seconds(stall['p99'])}{worst}, so stamps "
        "may be late by as much"
    ]
