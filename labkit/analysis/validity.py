"""Whether a point may be believed: VALID, SUSPECT or INVALID, with reasons.

It reads a row of the summary and the point's own record; fidelity.py holds the rules about the
client. It judges the measurement alone and must not know whether a result is good or bad.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words
from labkit.analysis.errors import tell_examples, tell_failure
from labkit.analysis.fidelity import doubt_client, find_broken_schedule
from labkit.analysis.gpu_state import doubt_gpu
from labkit.analysis.interference import doubt_neighbours
from labkit.analysis.sampling import doubt_sampling
from labkit.analysis.schedule import is_scheduled
from labkit.analysis.settings import (
    compare_settings,
    doubt_settings,
    find_lost_value,
    list_steps,
)

KNOBS = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "gpu_memory_utilization",
    "block_size",
    "scheduling_policy",
    "static_batching",
    "num_threads",
)
MAX_ERROR_SHARE = 0.05
MAX_LENGTH_DEVIATION = 0.05
MAX_SALTED_HIT_RATE = 0.05
MAX_TEMPLATE_TOKENS = 64
MAX_DRIFT = 0.25
MAX_DRIFT_P_VALUE = 0.01
REUSE_KINDS = ("shared_prefix", "multi_turn", "agent", "trace")
"""Workloads whose requests have text in common, so that cache hits are their subject."""
LIMIT_KINDS = ("structured",)
"""Workloads whose completion_tokens are a limit: an answer ends when it is whole."""
_ENDS = {"failed": "the point failed", "interrupted": "the point was interrupted"}

Row = Mapping[str, Any]


def judge_point(row: Row, point: Row) -> tuple[str, list[str]]:
    """Return ("VALID" | "SUSPECT" | "INVALID", reasons); few samples are a note, not a doubt."""
    broken = [*_broken(row, point), *find_broken_schedule(row)]
    if point.get("status") == "ok":
        broken += find_lost_value(row)
    doubts = [*_config(row), *_traffic(row, point), *_hits(row), *doubt_client(row), *_drift(row)]
    doubts += [*doubt_neighbours(row), *doubt_sampling(dict(row)), *doubt_gpu(dict(row))]
    if broken:
        return "INVALID", broken + doubts
    return ("SUSPECT", doubts) if doubts else ("VALID", [])


def _broken(row: Row, point: Row) -> list[str]:
    reasons = []
    status = str(point.get("status"))
    if status != "ok":
        told = _ENDS.get(status, "the point did not end")
        reasons.append(told + tell_failure(point.get("error_kind"), point.get("error")))
    elif not row["num_ok"]:
        reasons.append(f"no request succeeded{tell_examples(row['error_examples'])}")
    if row["num_ok"] and row["num_error"] > MAX_ERROR_SHARE * row["num_requests"]:
        reasons.append(
            f"{row['num_error']} of {row['num_requests']} requests failed ({_kinds(row)}), "
            f"more than {MAX_ERROR_SHARE:.0%}{tell_examples(row['error_examples'])}"
        )
    return reasons


def _config(row: Row) -> list[str]:
    lowered = {one.name: one.ran for one in list_steps(row)}
    reasons = doubt_settings(row) if row["status"] == "ok" else []
    reasons += [
        f"{one.name}: asked {one.asked}, the engine runs {one.effective}"
        for one in compare_settings(row)
        if one.state == "differs" and one.name in KNOBS and one.name not in lowered
    ]
    running, limit = row["num_requests_running"], row["asked"].get("max_num_seqs")
    limit = lowered.get("max_num_seqs", limit)
    if running and limit is not None and running["max"] > limit:
        reasons.append(f"{running['max']:g} requests ran at once though max_num_seqs is {limit}")
    if row["counter_resets"]:
        reasons.append("the engine's counters went back during the load: was it restarted?")
    return reasons


def _traffic(row: Row, point: Row) -> list[str]:
    reasons = []
    if 0 < row["num_error"] <= MAX_ERROR_SHARE * row["num_requests"]:
        reasons.append(f"{row['num_error']} of {row['num_requests']} requests failed")
    reasons += _account(row, point)
    if row["num_stamp_faults"]:
        reasons.append(f"{row['num_stamp_faults']} requests have stamps in an impossible order")
    deviation = row["completion_tokens_deviation"]
    limited = row["workload"].get("kind") in LIMIT_KINDS
    if deviation is not None and deviation > MAX_LENGTH_DEVIATION and not limited:
        reasons.append(f"some completions are {deviation:.0%} off the length that was asked")
    return reasons


def _account(row: Row, point: Row) -> list[str]:
    """Hold planned = sent + dropped: every request has a record, and those never sent are told."""
    reasons = []
    traffic = point.get("traffic") or {}
    planned = traffic.get("num_requests") or row["workload"].get("num_requests")
    if planned and 0 < row["num_requests"] != planned:
        reasons.append(f"{row['num_requests']} of {planned} planned requests were recorded")
    if row["num_requests"] and row["num_dropped"]:
        broken = row["error_kinds"].get("task_broken", 0)
        why = f" ({broken} because a step of their task failed)" if broken else ""
        reasons.append(f"{row['num_dropped']} of {row['num_requests']} requests were not sent{why}")
    return reasons


def _hits(row: Row) -> list[str]:
    workload, rate, prompts = row["workload"], row["prefix_cache_hit_rate"], row["prompt_tokens"]
    if not workload.get("salt") or workload.get("kind") in REUSE_KINDS:
        return []
    if rate is None or rate <= MAX_SALTED_HIT_RATE or not prompts:
        return []
    template = MAX_TEMPLATE_TOKENS if workload.get("endpoint") == "chat" else 0
    if rate * prompts["mean"] <= template:
        return []
    return [f"{rate:.0%} of prompt tokens came from cache though prompts are salted"]


def _drift(row: Row) -> list[str]:
    drift = row["latency_drift"]
    if drift is None or drift["p_value"] >= MAX_DRIFT_P_VALUE or drift["first_s"] <= 0:
        return []
    change = drift["second_s"] / drift["first_s"] - 1
    if abs(change) <= MAX_DRIFT:
        return []
    first, second = words.seconds(drift["first_s"]), words.seconds(drift["second_s"])
    told = f"latency drifted from {first} to {second} within the point"
    if is_scheduled(row) and change > 0:
        return [f"{told}: the load may exceed what the engine can serve, its queue still grew"]
    return [f"{told}: it had not settled"]


def _kinds(row: Row) -> str:
    return ", ".join(f"{kind}: {n}" for kind, n in row["error_kinds"].items())
