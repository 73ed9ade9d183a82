"""Where a request's time goes: in the queue, in prefill, in decode; and the stalls between.

Told by the engine for each request where it can, else by its histograms, else by the client's
stamps, which can't tell queue from prefill. It must not know engines.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from labkit.analysis.gaps import find_gaps
from labkit.analysis.stalls import prefill_stalls
from labkit.analysis.step_time import step_time

Row = dict[str, Any]
REQUESTS, HISTOGRAMS, CLIENT = "engine requests", "engine histograms", "client"


def phases(ok: Sequence[Row], requests: Sequence[Row], row: Mapping[str, Any], reasons: Row) -> Row:
    """Return "phases", "prefill_stall_s" and "step_time" of a point from its requests.

    `row` holds ttft_s and what the engine timed; what is None has its reason added.
    """
    told = row.get("engine_prefill_time_s")
    mean_prefill_s = told["mean"] if told else None
    gaps = find_gaps(requests, prefill_s=mean_prefill_s, most_running=_count_places(row))
    found: Row = {"phases": _split(ok, row)}
    if found["phases"] is None:
        reasons["phases"] = reasons.get("ttft_s") or "no request succeeded"
    return found | prefill_stalls(gaps, requests, reasons) | step_time(gaps, ok, reasons)


def _count_places(row: Mapping[str, Any]) -> float | None:
    """Return how many requests the engine was seen to work on, no more than its max_num_seqs."""
    running = (row.get("num_requests_running") or {}).get("max")
    places = (row.get("effective") or {}).get("max_num_seqs")
    # a scrape may count one that ends and the one that takes its place
    return running if running is None or places is None else min(running, places)


def _split(ok: Sequence[Row], row: Mapping[str, Any]) -> Row | None:
    whole = [one for one in ok if one.get("chunk_at_s") and one.get("sent_at_s") is not None]
    if not whole:
        return None
    ttft_s = fmean(one["first_token_at_s"] - one["sent_at_s"] for one in whole)
    decode_s = fmean(one["last_token_at_s"] - one["first_token_at_s"] for one in whole)
    queue_s: float | None
    if all(one.get("prefill_s") is not None for one in whole):
        prefill_s, source = fmean(one["prefill_s"] for one in whole), REQUESTS
        queue_s = max(0.0, ttft_s - prefill_s)
    elif row.get("engine_prefill_time_s") and row.get("engine_queue_time_s"):
        prefill_s, source = row["engine_prefill_time_s"]["mean"], HISTOGRAMS
        queue_s = row["engine_queue_time_s"]["mean"]
    else:
        prefill_s, queue_s, source = ttft_s, None, CLIENT
    tokens = _count_prompts(whole)
    known = source != CLIENT and tokens is not None and prefill_s > 0
    return {
        "queue_time_s": queue_s,
        "prefill_time_s": prefill_s,
        "decode_time_s": decode_s,
        "prompt_tokens_per_s": tokens / (prefill_s * len(whole)) if known and tokens else None,
        "decode_share": decode_s / (prefill_s + decode_s) if prefill_s + decode_s > 0 else None,
        "source": source,
        "n": len(whole),
    }


def _count_prompts(whole: Sequence[Row]) -> int | None:
    """Return the prompt tokens that were computed, those from a cache left out."""
    if any(one.get("prompt_tokens") is None for one in whole):
        return None
    return sum(int(one["prompt_tokens"]) - int(one.get("cached_tokens") or 0) for one in whole)
