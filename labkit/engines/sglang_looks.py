"""What SGLang tells of itself while it runs: its configuration in force, its loads, its counters.

Checked against SGLang 0.5.23. It must not know how it was launched.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from labkit.engines.scrape import Metrics, Sample, Site, empty_sample, read_counts

METRICS = {
    "prompt_tokens_total": "sglang:prompt_tokens_total",
    "generation_tokens_total": "sglang:generation_tokens_total",
    "prefix_cache_queries_tokens_total": "sglang:prompt_tokens_total",
    "engine_ttft_s_sum": "sglang:time_to_first_token_seconds_sum",
    "engine_ttft_count": "sglang:time_to_first_token_seconds_count",
    "engine_queue_time_s_sum": "sglang:queue_time_seconds_sum",
    "engine_queue_time_count": "sglang:queue_time_seconds_count",
}
LATE = {
    "num_preemptions": "sglang:num_retracted_requests_total",
    "prefix_cache_hits_tokens_total": "sglang:cached_tokens_total",
}
"""Counters that are not there before their first event; a retraction is a preemption. Tokens are
counted when their request ends."""


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return the configuration in force, and the context that the model is served with."""
    told: dict[str, Any] = site.json("/server_info", timeout_s=30.0)
    models = site.json("/v1/models", timeout_s=30.0)["data"]
    return told | {"max_model_len": models[0].get("max_model_len")}


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs as the configuration in force has them."""
    states = told.get("internal_states") or [{}]
    slots = states[0].get("effective_max_running_requests_per_dp")
    delay, chunk = told.get("min_free_slots_delay"), told.get("chunked_prefill_size")
    return {
        "max_num_seqs": slots,
        "max_model_len": told["max_model_len"],
        "enable_chunked_prefill": None if chunk is None else chunk > 0,
        "enable_prefix_caching": not told["disable_radix_cache"],
        "gpu_memory_utilization": told.get("mem_fraction_static"),
        "block_size": told.get("page_size"),
        "scheduling_policy": told.get("schedule_policy"),
        "static_batching": bool(delay and slots and slots > 1 and delay >= slots),
        "chunked_prefill_size": chunk,
        "max_prefill_tokens": told.get("max_prefill_tokens"),
    }


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /v1/loads, which tells from the start, and at the counters."""
    look = map_looks(site.json("/v1/loads?include=core")["loads"], site.metrics())
    if told.get("tp_size", 1) * told.get("pp_size", 1) > 1:
        look["kv_cache_capacity_bytes"] = None  # told of the first device only
    return look


def map_looks(loads: Sequence[Mapping[str, Any]], metrics: Metrics) -> Sample:
    """Return labkit's sample; the ranks of data parallelism are summed."""
    used = sum(load["num_used_tokens"] for load in loads)
    capacity = sum(load["max_total_num_tokens"] for load in loads)
    size_gib = sum(value for _, value in metrics.get("sglang:kv_cache_memory_usage_gb", []))
    counts, late = read_counts(metrics, METRICS), read_counts(metrics, LATE)
    if "sglang:num_requests_total" not in metrics:  # none has ended, so the rest is late as well
        late |= counts
    return empty_sample() | counts | {name: value or 0 for name, value in late.items()} | {
        "num_requests_running": sum(load["num_running_reqs"] for load in loads),
        "num_requests_waiting": sum(load["num_waiting_reqs"] for load in loads),
        "kv_cache_usage": used / capacity if capacity else None,
        "kv_cache_used_tokens": used,
        "kv_cache_capacity_tokens": capacity or None,
        "kv_cache_capacity_bytes": round(size_gib * 2**30) or None,
        "engine_prefill_time_s_sum": _sum_prefill(metrics, "sum"),
        "engine_prefill_time_count": _sum_prefill(metrics, "count"),
    }  # fmt: skip


def _sum_prefill(metrics: Metrics, part: Literal["sum", "count"]) -> float | None:
    found = metrics.get(f"sglang:per_stage_req_latency_seconds_{part}", [])
    values = [value for labels, value in found if labels.get("stage") == "prefill_forward"]
    if not values:
        return None
    return sum(values) if part == "sum" else round(sum(values))
