"""A run that was made up: one engine, prefill and decode alone, and both together."""

from typing import Any

import numpy as np

from labkit.analysis.disaggregation.queues import Stream
from labkit.analysis.disaggregation.simulate import draw_arrivals, simulate

PROMPTS = [32.0 + 8 * number for number in range(20)]


def make_row(series: str, variable: str, value: Any, **told: Any) -> dict[str, Any]:
    return {
        "point_id": f"{series}-{value}",
        "series": series,
        "variable": variable,
        "value": value,
        "repeat": 0,
        "validity": "VALID",
        "load": {"mode": "open" if series == "together" else "closed"},
        "asked": {},
        "effective": {"max_num_seqs": 8, "max_num_batched_tokens": 512},
        "null_reasons": {},
        "prefix_cache_hit_rate": None,
        "kv_cache_bytes_per_token": 23040,
        **told,
    }


def make_prefill(tokens: int, seconds: float) -> dict[str, Any]:
    lengths = {"mean": float(tokens), "quantiles": [float(tokens)] * 20}
    ttft = {"mean": seconds, "n": 12}
    return make_row("prefill", "workload.prompt_tokens", tokens, prompt_tokens=lengths, ttft_s=ttft)


def make_decode(streams: int, seconds: float) -> dict[str, Any]:
    bins = [{"num_running": streams, "step_s": seconds, "n": 200}]
    return make_row("decode", "load.max_concurrency", streams, step_time={"bins": bins})


def make_together(rate: float, slower: float = 1.0) -> dict[str, Any]:
    """A point whose latencies are those of the engine of `make_run`, `slower` times as long."""
    service = np.tile([0.010 + 0.0015 * one for one in PROMPTS], (40, 1))
    engine = Stream(np.full(40, 0.010), np.full(40, 0.002), 32, 8)
    chunks = np.ones(len(PROMPTS), dtype=np.int64)
    arrivals = draw_arrivals(40, 80, len(PROMPTS), seed=9)
    ttft, tpot = simulate(np.full(40, rate), engine, service, chunks, arrivals)
    found = [float(np.median(np.quantile(one, 0.9, axis=1))) * slower for one in (ttft, tpot)]
    return make_row(
        "together",
        "load.request_rate_per_s",
        rate,
        num_requests=80,
        offered_rate_per_s=rate,
        ttft_intended_s={"p90": found[0], "n": 80},
        tpot_s={"p90": found[1], "n": 80},
        prompt_tokens={"mean": 108.0, "quantiles": PROMPTS},
        completion_tokens={"mean": 32.0},
        slo_attainment=0.9,
        prefill_stall_s={"share": 0.2},
    )


def make_run(slower: float = 1.0, **asked: Any) -> dict[str, Any]:
    """Prefill of 10 ms + 1.5 ms a token, steps of 10 ms + 2 ms a stream, each a little off."""
    points = [
        make_prefill(tokens, (0.010 + 0.0015 * tokens) * noise)
        for tokens, noise in ((32, 1.01), (64, 0.99), (128, 1.0), (192, 1.01), (256, 0.995))
    ]
    points += [
        make_decode(streams, (0.010 + 0.002 * streams) * noise)
        for streams, noise in ((1, 1.01), (2, 0.99), (4, 1.0), (8, 1.005))
    ]
    points += [make_together(rate, slower) for rate in (1.0, 2.0)]
    run = {
        "notebook": "disaggregation",
        "slo": {"ttft_s": 1.0, "tpot_s": 0.03},
        "disaggregation": {"num_devices": 4, "percentile": 90, "transfer_bytes_per_s": 3.125e9}
        | asked,
    }
    return {"run": run, "points": points}
