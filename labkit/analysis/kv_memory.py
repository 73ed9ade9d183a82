"""The KV cache in bytes: what it holds, what was used, what contiguous reservation would have
taken, and whether it or max_num_seqs is what bounds the requests that run at once.

It must not know how an engine was asked.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis.kv_size import KvSize, find_set, size_kv

Row = dict[str, Any]
PER_SLOT = "llama.cpp reserves engine.max_model_len for every slot, so paging saves nothing"
WINDOWED = (
    "layers with a sliding window keep no more than the window, so tokens don't make bytes; "
    "only the engine could tell them"
)
MAX_DISAGREEMENT = 0.05
"""Capacities in bytes, the engine's and the model's, that lie further apart are told."""


def kv_memory(point: Mapping[str, Any], row: Mapping[str, Any], reasons: Row) -> Row:
    """Return kv_cache_bytes_per_token and kv_memory of a point; each None has its reason added."""
    config = point.get("model_config")
    kind = str((point.get("engine") or {}).get("kind"))
    size, why = (
        size_kv(config, point.get("command") or [], kind)
        if config
        else (
            None,
            str(point.get("model_config_reason") or "the model's configuration was not read"),
        )
    )
    if size is None:
        reasons["kv_cache_bytes_per_token"] = why
    each = None if size is None else round(size.bytes_per_token)
    tokens = row.get("kv_cache_capacity_tokens")
    if tokens is None:
        reasons["kv_memory"] = reasons.get("kv_cache_capacity_tokens") or "no capacity was told"
        return {"kv_cache_bytes_per_token": each, "kv_memory": None}
    told = row.get("kv_cache_capacity_bytes")
    reckoned = None if size is None or size.window_tokens else size.bytes_per_token * tokens
    if size is not None and size.window_tokens:
        why = WINDOWED
    capacity = told if told is not None else reckoned
    usage, running = row.get("kv_cache_usage"), row.get("num_requests_running")
    per_slot = kind == "llamacpp" and find_set(point.get("command") or [], "kv_unified") != "true"
    reserved = None if per_slot else _reserve(size, row, running)
    used = None if usage is None or capacity is None else usage["max"] * capacity
    fitting = _count_fitting(row, tokens)
    return {
        "kv_cache_bytes_per_token": each,
        "kv_memory": {
            "capacity_tokens": tokens,
            "capacity_bytes": None if capacity is None else round(capacity),
            "reckoned_bytes": None if reckoned is None else round(reckoned),
            "disagrees": _disagree(told, reckoned),
            "used_bytes_mean": _round(usage and capacity and usage["mean"] * capacity),
            "used_bytes_max": _round(used),
            "reserved_bytes": _round(reserved),
            "saved_share": 1 - used / reserved if used is not None and reserved else None,
            "fitting_requests": fitting,
            "limit": _find_limit(row, fitting),
            "reason": PER_SLOT if per_slot else why or None,
        },
    }


def _reserve(
    size: KvSize | None, row: Mapping[str, Any], running: Mapping[str, Any] | None
) -> float | None:
    """Return what the most requests at once would take with max_model_len reserved for each."""
    length = _find_setting(row, "max_model_len")
    if size is None or length is None or running is None:
        return None
    return float(running["max"]) * size.sequence_bytes(length)


def _count_fitting(row: Mapping[str, Any], tokens: int) -> float | None:
    """Return how many requests of this workload's mean length the pool holds."""
    lengths = [row.get(name) for name in ("prompt_tokens", "completion_tokens")]
    means = [one["mean"] for one in lengths if one and one.get("mean") is not None]
    return tokens / sum(means) if len(means) == 2 and sum(means) > 0 else None


def _find_limit(row: Mapping[str, Any], fitting: float | None) -> str | None:
    most = _find_setting(row, "max_num_seqs")
    if most is None or fitting is None:
        return None
    return "max_num_seqs" if most <= fitting else "kv_cache"


def _find_setting(row: Mapping[str, Any], name: str) -> float | None:
    found = (row.get("effective") or {}).get(name)
    return found if found is not None else (row.get("asked") or {}).get(name)


def _disagree(told: float | None, reckoned: float | None) -> bool:
    if not told or not reckoned:
        return False
    return abs(told / reckoned - 1) > MAX_DISAGREEMENT


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)
