import json
import urllib.error
from pathlib import Path

import pytest

from labkit.engines.scrape import (
    empty_sample,
    get_json,
    get_text,
    map_llamacpp,
    parse_metrics,
)

LLAMACPP = """# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 60
# TYPE llamacpp:prompt_tokens_cached_total counter
llamacpp:prompt_tokens_cached_total 20
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 33
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 4
"""
RUNNING = {
    "n_ctx": 256,
    "is_processing": True,
    "n_prompt_tokens": 64,
    "n_prompt_tokens_processed": 29,
    "next_token": [{"n_decoded": 35}],
}
LOOKS = json.loads((Path(__file__).parent / "data" / "llamacpp_looks.json").read_text())
"""What a real server of two slots and 256 tokens a batch said under four requests of 302 tokens."""
IDLE = RUNNING | {"is_processing": False}


def test_llamacpp_kv_is_what_running_slots_hold() -> None:
    sample = map_llamacpp(LLAMACPP, [RUNNING, IDLE])
    assert sample == empty_sample() | {
        "num_requests_running": 1,
        "num_requests_waiting": 4,
        "kv_cache_usage": 0.125,
        "kv_cache_used_tokens": 64,
        "kv_cache_capacity_tokens": 512,
        "prompt_tokens_total": 80,
        "generation_tokens_total": 33,
        "prefix_cache_queries_tokens_total": 80,
        "prefix_cache_hits_tokens_total": 20,
    }


@pytest.mark.parametrize(
    ("look", "running", "waiting", "used"),
    [
        ("first batch of a prefill, others not seen yet", 1, 0, 256),
        ("two in prefill, two deferred", 2, 2, 512),
        ("two decode, two deferred", 2, 2, 614),
        ("prefill of what the cache lacks, beside a decode", 2, 0, 620),
        ("one decodes, the other slot is idle", 1, 0, 306),
    ],
)
def test_llamacpp_that_was_looked_at(look: str, running: int, waiting: int, used: int) -> None:
    seen = LOOKS[look]
    sample = map_llamacpp("\n".join([*seen["metrics"], ""]), seen["slots"])
    assert (sample["num_requests_running"], sample["num_requests_waiting"]) == (running, waiting)
    assert sample["kv_cache_used_tokens"] == used
    assert sample["kv_cache_usage"] == used / 8192


def test_llamacpp_slot_that_is_held_by_static_batching_waits() -> None:
    seen = LOOKS["static batching: one decodes, one is held, one deferred"]
    text = "\n".join([*seen["metrics"], ""])
    sample = map_llamacpp(text, seen["slots"], static=True)
    assert (sample["num_requests_running"], sample["num_requests_waiting"]) == (1, 2)
    assert sample["kv_cache_used_tokens"] == 322
    seen = LOOKS["two in prefill, two deferred"]  # nobody generates, so nobody is held
    sample = map_llamacpp("\n".join([*seen["metrics"], ""]), seen["slots"], static=True)
    assert (sample["num_requests_running"], sample["num_requests_waiting"]) == (2, 2)


def test_llamacpp_unified_cache_is_counted_once() -> None:
    assert map_llamacpp(LLAMACPP, [RUNNING, IDLE], unified=True)["kv_cache_usage"] == 0.25


def test_what_llamacpp_does_not_tell_is_none() -> None:
    sample = map_llamacpp("", [{"n_ctx": 256, "is_processing": False}])
    assert sample["num_requests_waiting"] is None
    assert sample["prompt_tokens_total"] is None


def test_loopback_is_reached_without_a_proxy(pages, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    pages.pages["/x"] = {"a": 1}
    assert get_json(f"{pages.root}/x", api_key="k") == {"a": 1}
    assert pages.seen == [("/x", "Bearer k")]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get_text(f"{pages.root}/y")


def test_buckets_and_comments_are_left_out_and_the_rest_stays() -> None:
    text = (
        "# HELP a_seconds time\n# TYPE a_seconds histogram\n"
        'a_seconds_bucket{le="1"} 2\na_seconds_bucket{le="+Inf"} 3\n'
        "a_seconds_sum 4.5\na_seconds_count 3\n# TYPE b_total counter\n"
        'b_total{x="_bucket"} 7\n'
    )
    assert parse_metrics(text) == {
        "a_seconds_sum": [({}, 4.5)],
        "a_seconds_count": [({}, 3.0)],
        "b_total": [({"x": "_bucket"}, 7.0)],
    }
