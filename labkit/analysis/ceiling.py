"""How near the load client came to what it can do itself; definitions.py defines each figure.

It reads what the client told of itself and what a self-test told of this machine. It must not
judge, nor know about latencies.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis.series import finite
from labkit.records import PointRecords

FIGURES = ("client_cpu_s", "client_busiest_cores", "client_stall_s", "client_load")
_OLD = "recorded by a version that did not tell it"
_UNENDED = "the load did not end, so the client did not tell it"

Row = dict[str, Any]


def ceiling(records: PointRecords, duration_s: float | None, reasons: Row) -> Row:
    """Return FIGURES; `duration_s` stands in for a load whose own stamps are not told."""
    point = records.point
    told = point.get("client")
    result: Row = dict.fromkeys(FIGURES)
    why = _UNENDED if told is None and ("client" in point or not _ended(point)) else _OLD
    client: Mapping[str, Any] = told or {}
    load_s = _measure_load(point) or duration_s
    result["client_cpu_s"] = finite(client.get("cpu_s", point.get("client_cpu_s")))
    busiest = finite(client.get("max_worker_cpu_s"))
    if busiest is not None and load_s:
        result["client_busiest_cores"] = busiest / load_s
    stall = client.get("stall_s")
    if stall and stall.get("n"):
        result["client_stall_s"] = {part: stall.get(part) for part in ("max", "p99", "n")}
    for name in ("client_cpu_s", "client_busiest_cores", "client_stall_s"):
        if result[name] is None:
            reasons[name] = "the client did not tell it" if told else why
    result["client_load"], reason = _compare(records, client, duration_s)
    if result["client_load"] is None:
        reasons["client_load"] = reason
    return result


def _ended(point: Mapping[str, Any]) -> bool:
    return finite(point.get("load_ended_at_s")) is not None


def _measure_load(point: Mapping[str, Any]) -> float | None:
    start, end = finite(point.get("load_started_at_s")), finite(point.get("load_ended_at_s"))
    return None if start is None or end is None else end - start


def _compare(
    records: PointRecords, client: Mapping[str, Any], duration_s: float | None
) -> tuple[Row | None, str]:
    """Return rates of this load as shares of the self-test's, worker by worker."""
    headroom = records.headroom
    if not headroom:
        return None, records.headroom_reason or "the client's ceiling was not measured"
    if not duration_s:
        return None, "the load has no duration"
    workers = (client.get("num_workers") or 1) / (headroom.get("num_workers") or 1)
    result: Row = {}
    for name, number in (
        ("requests", sum(1 for one in records.requests if one.get("sent_at_s") is not None)),
        ("chunks", _count_chunks(records.requests)),
    ):
        most = finite(headroom.get(f"{name}_per_s"))
        rate = number / duration_s
        result[f"{name}_per_s"] = rate
        result[f"{name}_share"] = rate / (most * workers) if most else None
    return result, ""


def _count_chunks(requests: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(one.get("chunk_at_s") or ()) for one in requests)
