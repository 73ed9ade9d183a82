"""What TensorRT-LLM tells of itself while it runs: its log, its list of steps, and its gauges.

It must not know how it was launched.
"""

import re
import urllib.error
from collections.abc import Mapping
from typing import Any

from labkit.engines.scrape import Metrics, Sample, Site, empty_sample, read_counts, read_mean

METRICS = {
    "num_requests_running": "trtllm_num_requests_running",
    "num_requests_waiting": "trtllm_num_requests_waiting",
    "prompt_tokens_total": "trtllm_prompt_tokens_total",
    "generation_tokens_total": "trtllm_generation_tokens_total",
    "engine_ttft_s_sum": "trtllm_time_to_first_token_seconds_sum",
    "engine_ttft_count": "trtllm_time_to_first_token_seconds_count",
    "engine_queue_time_s_sum": "trtllm_request_queue_time_seconds_sum",
    "engine_queue_time_count": "trtllm_request_queue_time_seconds_count",
    "engine_prefill_time_s_sum": "trtllm_request_prefill_time_seconds_sum",
    "engine_prefill_time_count": "trtllm_request_prefill_time_seconds_count",
    "engine_decode_time_s_sum": "trtllm_request_decode_time_seconds_sum",
    "engine_decode_time_count": "trtllm_request_decode_time_seconds_count",
}

STEP = {"num_requests_running": "numActiveRequests", "num_requests_waiting": "numQueuedRequests"}
CACHE = {
    "maxNumBlocks": "trtllm_kv_cache_max_blocks",
    "usedNumBlocks": "trtllm_kv_cache_used_blocks",
    "tokensPerBlock": "trtllm_kv_cache_tokens_per_block",
    "reusedBlocks": "trtllm_kv_cache_reused_blocks_total",
    "missedBlocks": "trtllm_kv_cache_missed_blocks_total",
}
"""Of a step's kvCacheStats -> the metric that tells the same in newer versions."""

SIZES = re.compile(
    r"max_seq_len=(\d+), max_num_requests=(\d+), max_num_tokens=(\d+)(?:, max_batch_size=(\d+))?"
)
CAPACITY = re.compile(r"Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)")
BLOCK = re.compile(r"[Nn]umber of tokens per block: (\d+)|tokens per block=(\d+)")


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return the sizes that its log tells; what is told several times is taken from the last."""
    told: dict[str, Any] = {}
    for found in SIZES.finditer(log):
        told |= {"max_model_len": int(found[1]), "max_num_batched_tokens": int(found[3])}
        told["max_num_seqs"] = int(found[4] or found[2])
    for found in CAPACITY.finditer(log):
        told["kv_cache_capacity_tokens"] = int(found[2])
        told["kv_cache_capacity_bytes"] = round(float(found[1]) * 2**30)
    for found in BLOCK.finditer(log):
        told["block_size"] = int(found[1] or found[2])
    return told


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at its gauges, or where they don't tell at the last step that it kept.

    Steps are a list that reading empties, and that newer versions read by themselves to keep their
    gauges, so they are asked for only where those are missing; an old version takes up to two
    seconds to say that there was none. What neither tells is None. A paused sequence is counted
    while it is paused, not when it was, so there is no count of preemptions.
    """
    try:
        metrics = name_alike(site.metrics("/prometheus/metrics"))
    except urllib.error.HTTPError:
        metrics = {}
    step: dict[str, Any] = {}
    if not {METRICS["num_requests_running"], CACHE["usedNumBlocks"]} <= metrics.keys():
        steps = site.json("/metrics")
        step = steps[-1] if isinstance(steps, list) and steps else {}
    cache = step.get("kvCacheStats") or read_counts(metrics, CACHE)
    blocks, used, size, hits, missed = (cache.get(name) for name in CACHE)
    usage = read_mean(metrics, "trtllm_kv_cache_utilization")
    if blocks and used is not None:
        usage = used / blocks
    capacity = blocks * size if blocks and size else told.get("kv_cache_capacity_tokens")
    found = empty_sample() | read_counts(metrics, METRICS)
    found |= {field: int(step[name]) for field, name in STEP.items() if name in step}
    found |= {
        "kv_cache_usage": usage,
        "kv_cache_capacity_tokens": capacity,
        "kv_cache_capacity_bytes": told.get("kv_cache_capacity_bytes"),
    }
    if capacity and usage is not None:
        found["kv_cache_used_tokens"] = round(usage * capacity)
    if size and hits is not None and missed is not None:
        found["prefix_cache_hits_tokens_total"] = hits * size
        found["prefix_cache_queries_tokens_total"] = (hits + missed) * size
    return found


def name_alike(metrics: Metrics) -> Metrics:
    """Return the metrics of an old version under the names that they have had since."""
    return {f"trtllm_{name.removeprefix('trtllm_')}": found for name, found in metrics.items()}
