import json

import pytest
from lives import DATA

from labkit.engines.scrape import FIELDS, Site, empty_sample, parse_metrics
from labkit.engines.sglang_looks import learn, map_looks, read_effective, sample

INFO = json.loads((DATA / "sglang_server_info.json").read_text())
"""Part of what SGLang 0.5.23 told after --context-length 1024 --max-running-requests 2."""
LOOK = json.loads((DATA / "sglang_look.json").read_text())
"""What it said under four requests of 68 prompt and 24 completion tokens, after one that ended."""
METRICS = "\n".join([*LOOK["metrics"], ""])


def test_a_look_under_load(pages) -> None:
    pages.pages |= {"/v1/loads?include=core": {"loads": LOOK["loads"]}, "/metrics": METRICS}
    assert sample(Site(pages.root), INFO) == {
        "num_requests_running": 2,
        "num_requests_waiting": 2,
        "kv_cache_usage": 77 / 2048,
        "kv_cache_used_tokens": 77,
        "kv_cache_capacity_tokens": 2048,
        "num_preemptions": 0,
        "prompt_tokens_total": 68,
        "generation_tokens_total": 24,
        "prefix_cache_queries_tokens_total": 68,
        "prefix_cache_hits_tokens_total": 0,
        "kv_cache_capacity_bytes": 2049 * 30 * 2 * 3 * 64 * 2,  # slots, layers, k v, heads, size, 2
        "engine_ttft_s_sum": pytest.approx(1.502659, abs=1e-6),
        "engine_ttft_count": 1,
        "engine_queue_time_s_sum": pytest.approx(0.002593, abs=1e-6),
        "engine_queue_time_count": 3,
        "engine_prefill_time_s_sum": pytest.approx(1.6387, abs=1e-3),
        "engine_prefill_time_count": 3,
        "engine_decode_time_s_sum": None,
        "engine_decode_time_count": None,
    }
    several = sample(Site(pages.root), INFO | {"tp_size": 2})
    assert several["kv_cache_capacity_bytes"] is None


def test_ranks_are_summed_and_retractions_are_preemptions() -> None:
    text = (
        "# TYPE sglang:num_retracted_requests_total counter\n"
        'sglang:num_retracted_requests_total{dp_rank="0"} 2.0\n'
        'sglang:num_retracted_requests_total{dp_rank="1"} 3.0\n'
    )
    look = map_looks([*LOOK["loads"], *LOOK["loads"]], parse_metrics(text))
    assert (look["num_requests_running"], look["kv_cache_capacity_tokens"]) == (4, 4096)
    assert look["num_preemptions"] == 5


def test_counters_are_zero_before_the_first_request_and_unknown_if_missing_afterwards() -> None:
    idle = map_looks(LOOK["loads"], {})
    assert idle["prompt_tokens_total"] == 0
    assert idle["prefix_cache_hits_tokens_total"] == 0
    ended = map_looks(LOOK["loads"], {"sglang:num_requests_total": [({}, 1.0)]})
    assert ended["prompt_tokens_total"] is None
    assert set(idle) == set(ended) == set(empty_sample()) == set(FIELDS)


def test_the_configuration_in_force_is_read_back(pages) -> None:
    pages.pages |= {
        "/server_info": INFO,
        "/v1/models": {"data": [{"id": "name", "max_model_len": 1024}]},
    }
    site = Site(pages.root)
    told = learn(site, "")
    expected = {
        "max_num_seqs": 2,
        "max_model_len": 1024,
        "enable_chunked_prefill": True,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.716,
        "block_size": 1,
        "scheduling_policy": "fcfs",
        "static_batching": False,
        "chunked_prefill_size": 4096,
        "max_prefill_tokens": 16384,
    }
    assert read_effective(site, told) == expected
    static = {"min_free_slots_delay": 2, "chunked_prefill_size": -1, "disable_radix_cache": True}
    assert read_effective(site, told | static) == expected | {
        "enable_chunked_prefill": False,
        "enable_prefix_caching": False,
        "static_batching": True,
        "chunked_prefill_size": -1,
    }
    half = read_effective(site, told | {"min_free_slots_delay": 1})
    assert half["static_batching"] is False
