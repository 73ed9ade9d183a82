"""The adapter on real SGLang for CPU: `make test-sglang`.

It proves the adapter only: that every knob arrives, and that what is read back and counted is true.
The kernels are stood in for (stub/sgl_kernel), so its speed says nothing about SGLang.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from real.sglang.running import (
    MODEL,
    NEEDED,
    PROMPT,
    complete,
    count_hits,
    fire_late,
    left_clean,
    make_params,
)

from labkit.engines import Engine, check_engines
from labkit.engines.scrape import FIELDS

pytestmark = NEEDED

UNKNOWN = {"engine_decode_time_s_sum", "engine_decode_time_count"}
"""What SGLang does not tell."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Continuous batching, with a prefix cache and chunks of 64 tokens."""
    params = make_params(
        {"chunked-prefill-size": 64, "max-prefill-tokens": 2000},
        max_num_seqs=2,
        max_model_len=1024,
        enable_chunked_prefill=True,
        enable_prefix_caching=True,
        gpu_memory_utilization=0.3,
        block_size=1,
        scheduling_policy="lpm",
        static_batching=False,
    )
    check_engines([params])
    with left_clean(params, tmp_path_factory.mktemp("continuous")) as engine:
        yield engine


def test_every_knob_arrives(engine: Engine) -> None:
    assert engine.effective() == {
        "max_num_seqs": 2,
        "max_model_len": 1024,
        "enable_chunked_prefill": True,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.3,
        "block_size": 1,
        "scheduling_policy": "lpm",
        "static_batching": False,
        "chunked_prefill_size": 64,
        "max_prefill_tokens": 2000,
    }
    assert engine.model == Path(MODEL).name


def test_readiness_generated_nothing_and_every_metric_is_there(engine: Engine) -> None:
    before = engine.sample()
    assert (before["prompt_tokens_total"], before["engine_ttft_count"]) == (0, 0)
    assert before["kv_cache_capacity_tokens"] == 2048
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(complete, engine, f"{n} {PROMPT}", 12) for n in range(4)]
        looks = []
        while not all(one.done() for one in asked):
            looks.append(engine.sample())
        usages = [one.result()[2] for one in asked]
    after = engine.sample()
    assert set(after) == set(FIELDS)
    assert {name for name, value in after.items() if value is None} == UNKNOWN
    assert max(look["num_requests_running"] for look in looks) == 2
    assert max(look["num_requests_waiting"] for look in looks) >= 2
    assert 0 < max(look["kv_cache_usage"] for look in looks) < 1
    assert after["num_requests_running"] == after["num_requests_waiting"] == 0
    assert after["prompt_tokens_total"] == sum(one["prompt_tokens"] for one in usages)
    assert after["generation_tokens_total"] == sum(one["completion_tokens"] for one in usages) == 48
    assert after["engine_ttft_count"] == after["engine_queue_time_count"] == 4
    assert after["kv_cache_capacity_bytes"] == 2049 * 30 * 2 * 3 * 64 * 2


def test_tokens_are_counted_as_the_engine_counts(engine: Engine) -> None:
    assert engine.count_tokens is not None
    assert engine.count_tokens(PROMPT) == complete(engine, PROMPT, 2)[2]["prompt_tokens"]


def test_a_prefix_is_found_again_until_the_cache_is_flushed(engine: Engine) -> None:
    assert engine.count_tokens is not None
    num_tokens = engine.count_tokens(PROMPT)
    complete(engine, PROMPT, 2)
    assert count_hits(engine) == num_tokens - 1
    assert engine.reset_cache()
    assert count_hits(engine) == 0
    assert count_hits(engine) == num_tokens - 1


def test_a_late_request_joins_a_running_batch(engine: Engine) -> None:
    late_first_at_s, long_end_at_s, _ = fire_late(engine)
    assert late_first_at_s < long_end_at_s
