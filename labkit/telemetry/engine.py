"""One sample of the engine: the fields that samples.jsonl keeps of a scrape.

It must not know which engine answers or how it was asked.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

FIELDS = (
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage",
    "kv_cache_used_tokens",
    "kv_cache_capacity_tokens",
    "num_preemptions",
    "prompt_tokens_total",
    "generation_tokens_total",
    "prefix_cache_queries_tokens_total",
    "prefix_cache_hits_tokens_total",
    "kv_cache_capacity_bytes",
    "engine_ttft_s_sum",
    "engine_ttft_count",
    "engine_queue_time_s_sum",
    "engine_queue_time_count",
    "engine_prefill_time_s_sum",
    "engine_prefill_time_count",
    "engine_decode_time_s_sum",
    "engine_decode_time_count",
)


def read_engine(scrape: Callable[[], Mapping[str, Any]]) -> dict[str, float | int | None]:
    """Return every field of one scrape, None for what the engine does not tell or tells as NaN.

    Whatever `scrape` raises is passed on; the sampler records it.
    """
    found = scrape()
    return {name: _finite(found.get(name)) for name in FIELDS}


def _finite(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value
