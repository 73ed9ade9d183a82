"""What the samplers saw during the load: engine, GPU and host gauges, and counter deltas.

It knows the fields of samples.jsonl; it must not know how they were scraped or how they are drawn.
Every figure that cannot be told comes back as None with a reason.
"""

from collections.abc import Sequence
from typing import Any

from labkit.analysis import series

ENGINE = ("kv_cache_usage", "num_requests_waiting", "num_requests_running")
GPU = ("gpu_memory_used_bytes", "gpu_utilization", "gpu_power_w")
HOST = (
    "host_cpu_utilization",
    "host_memory_used_bytes",
    "engine_cpu_utilization",
    "engine_memory_bytes",
    "client_cpu_utilization",
    "client_memory_bytes",
)
GAUGES = ENGINE + GPU + HOST
_ADDED_OVER_GPUS = {"gpu_memory_used_bytes", "gpu_power_w"}

Row = dict[str, Any]
Window = tuple[float, float]


def sampled(point: Row, samples: Sequence[Row], window: Window | None) -> tuple[Row, Row]:
    """Return (figures, reasons): a gauge {"mean", "max", "n"} for each name in GAUGES, the delta
    of num_preemptions, and counter_resets. `window` is the load, in s of the monotonic clock.
    """
    figures: Row = dict.fromkeys((*GAUGES, "num_preemptions"))
    reasons: Row = {}
    for source, fields in (("engine", ENGINE), ("gpu", GPU), ("host", HOST)):
        own = [sample for sample in samples if sample.get("source") == source]
        for field in fields:
            if window is not None:
                figures[field] = _gauge(own, field, window)
            if figures[field] is None:
                reasons[field] = tell_missing(point, own, source, field, window)
    engine = [sample for sample in samples if sample.get("source") == "engine"]
    found = _increase(engine, "num_preemptions", window)
    figures["counter_resets"] = 0
    if found is None:
        why = tell_missing(point, engine, "engine", "num_preemptions", window, counter=True)
        reasons["num_preemptions"] = why
    else:
        figures["num_preemptions"] = int(found[0])
    for field in ("num_preemptions", "generation_tokens_total", "prompt_tokens_total"):
        grown = _increase(engine, field, window)
        figures["counter_resets"] = max(figures["counter_resets"], grown[1] if grown else 0)
    failed = sum(1 for sample in engine if sample.get("error"))
    figures["engine_samples_failed"] = failed
    return figures, reasons


def hit_rate(
    samples: Sequence[Row], requests: Sequence[Row], window: Window | None
) -> tuple[float | None, str]:
    """Return (prefix cache hit rate 0..1, its source), or (None, the reason).

    From the engine's counters if it has them: tokens hit over tokens looked up during the load.
    Otherwise from usage: cached_tokens over prompt_tokens of the ok requests that tell both.
    """
    engine = [sample for sample in samples if sample.get("source") == "engine"]
    queries = _increase(engine, "prefix_cache_queries_tokens_total", window)
    hits = _increase(engine, "prefix_cache_hits_tokens_total", window)
    if queries is not None and hits is not None and queries[0] > 0:
        return min(hits[0] / queries[0], 1.0), "engine counters"
    told = [
        (cached, prompt)
        for request in requests
        if (cached := series.finite(request.get("cached_tokens"))) is not None
        and (prompt := series.finite(request.get("prompt_tokens")))
    ]
    total = sum(prompt for _, prompt in told)
    if not total:
        return None, "neither the engine's counters nor the usage of any request tell cache hits"
    return sum(cached for cached, _ in told) / total, "usage.cached_tokens"


def _gauge(samples: Sequence[Row], field: str, window: Window) -> Row | None:
    if field not in GPU:
        return series.gauge(series.pairs(samples, field), *window)
    devices = dict.fromkeys(map(_name_device, samples))
    found = []
    for device in devices:
        own = [sample for sample in samples if _name_device(sample) == device]
        one = series.gauge(series.pairs(own, field), *window)
        if one is not None:
            found.append(one)
    return series.combine(found, add=field in _ADDED_OVER_GPUS)


def _name_device(sample: Row) -> tuple[Any, Any]:
    return sample.get("gpu_index") or 0, sample.get("mig_index")


def _increase(
    samples: Sequence[Row], field: str, window: Window | None
) -> tuple[float, int] | None:
    return series.increase(series.pairs(samples, field), *window) if window else None


def tell_missing(
    point: Row,
    samples: Sequence[Row],
    source: str,
    field: str,
    window: Window | None,
    *,
    counter: bool = False,
) -> str:
    """Return why a field of a source's own samples gives no figure over the load."""
    if window is None:
        return "the load never started"
    gpu = point.get("gpu") or {}
    if source == "gpu" and gpu.get("available") is False:
        return str(gpu.get("reason") or "no GPU is visible")
    if source == "gpu" and (why := (gpu.get("untold") or {}).get(field)):
        return str(why)
    errors = [sample["error"] for sample in samples if sample.get("error")]
    if errors and len(errors) == len(samples):
        return f"all {len(errors)} {source} samples failed: {errors[0]}"
    if not any(series.finite(sample.get(field)) is not None for sample in samples):
        return f"the {source} does not tell {field}" if samples else f"no {source} was sampled"
    if counter:
        return f"fewer than two {source} samples tell {field}"
    return f"no {source} sample fell inside the load"
