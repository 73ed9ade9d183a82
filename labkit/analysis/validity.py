"""Whether a point may be believed: VALID, SUSPECT or INVALID, with reasons.

It reads a row of the summary and the point's own record. It judges the measurement alone and must
not know whether a result is good or bad.
"""

from collections.abc import Mapping
from typing import Any

KNOBS = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "gpu_memory_utilization",
    "block_size",
    "scheduling_policy",
    "num_threads",
)
MAX_ERROR_SHARE = 0.05
MAX_LENGTH_DEVIATION = 0.05
MAX_SALTED_HIT_RATE = 0.05
MAX_TEMPLATE_TOKENS = 64
MAX_CLIENT_CORES = 0.9
_ENDS = {"failed": "the point failed", "interrupted": "the point was interrupted"}

Row = Mapping[str, Any]


def judge_point(row: Row, point: Row) -> tuple[str, list[str]]:
    """Return ("VALID" | "SUSPECT" | "INVALID", reasons); few samples are a note, not a doubt."""
    broken = _broken(row, point)
    doubts = [*_config(row), *_traffic(row), *_client(row)]
    if broken:
        return "INVALID", broken + doubts
    return ("SUSPECT", doubts) if doubts else ("VALID", [])


def _broken(row: Row, point: Row) -> list[str]:
    reasons = []
    status = str(point.get("status"))
    if status != "ok":
        told, error = _ENDS.get(status, "the point did not end"), point.get("error")
        reasons.append(f"{told}: {error}" if error else told)
    elif not row["num_ok"]:
        reasons.append("no request succeeded")
    if row["num_ok"] and row["num_error"] > MAX_ERROR_SHARE * row["num_requests"]:
        reasons.append(
            f"{row['num_error']} of {row['num_requests']} requests failed ({_kinds(row)}), "
            f"more than {MAX_ERROR_SHARE:.0%}"
        )
    return reasons


def _config(row: Row) -> list[str]:
    asked, effective = row["asked"], row["effective"]
    reasons = [
        f"{knob}: asked {asked[knob]}, the engine runs {effective[knob]}"
        for knob in KNOBS
        if asked.get(knob) is not None
        and effective.get(knob) is not None
        and not _same(asked[knob], effective[knob])
    ]
    running, limit = row["num_requests_running"], asked.get("max_num_seqs")
    if running and limit is not None and running["max"] > limit:
        reasons.append(f"{running['max']:g} requests ran at once though max_num_seqs is {limit}")
    if row["counter_resets"]:
        reasons.append("the engine's counters went back during the load: was it restarted?")
    return reasons


def _traffic(row: Row) -> list[str]:
    reasons = []
    if 0 < row["num_error"] <= MAX_ERROR_SHARE * row["num_requests"]:
        reasons.append(f"{row['num_error']} of {row['num_requests']} requests failed")
    planned = row["workload"].get("num_requests")
    if planned and 0 < row["num_requests"] != planned:
        reasons.append(f"{row['num_requests']} of {planned} planned requests were recorded")
    if row["num_stamp_faults"]:
        reasons.append(f"{row['num_stamp_faults']} requests have stamps in an impossible order")
    deviation = row["completion_tokens_deviation"]
    if deviation is not None and deviation > MAX_LENGTH_DEVIATION:
        reasons.append(f"some completions are {deviation:.0%} off the length that was asked")
    rate, prompts = row["prefix_cache_hit_rate"], row["prompt_tokens"]
    if row["workload"].get("salt") and rate is not None and rate > MAX_SALTED_HIT_RATE and prompts:
        template = MAX_TEMPLATE_TOKENS if row["workload"].get("endpoint") == "chat" else 0
        if rate * prompts["mean"] > template:
            reasons.append(f"{rate:.0%} of prompt tokens came from cache though prompts are salted")
    return reasons


def _client(row: Row) -> list[str]:
    cores = row["client_cpu_utilization"]["mean"] if row["client_cpu_utilization"] else None
    if cores is None and row["client_cpu_s"] is not None and row["duration_s"]:
        cores = row["client_cpu_s"] / row["duration_s"]
    if cores is not None and cores > MAX_CLIENT_CORES:
        return [f"the client used {cores:.2f} cores: it may have held the load back"]
    return []


def _same(asked: Any, effective: Any) -> bool:
    if isinstance(asked, float) or isinstance(effective, float):
        try:
            return abs(float(asked) - float(effective)) <= 1e-6 * max(1.0, abs(float(asked)))
        except (TypeError, ValueError):
            return False
    return bool(asked == effective)


def _kinds(row: Row) -> str:
    return ", ".join(f"{kind}: {n}" for kind, n in row["error_kinds"].items())
