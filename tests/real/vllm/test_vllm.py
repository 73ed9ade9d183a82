"""The vLLM adapter on real vLLM for CPU: `make test-vllm`. It proves the adapter, not speed."""

import urllib.error
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from real.vllm.running import WORDS, in_background, look_until, make_params, stream

from labkit.engines import Engine, open_engine
from labkit.engines.process import is_port_free

pytestmark = pytest.mark.real

LONG, SHORT = 96, 8


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One server for all tests that need no other settings."""
    with open_engine(make_params(max_num_seqs=2), folder=tmp_path_factory.mktemp("vllm")) as ready:
        yield ready


def test_every_knob_arrives(tmp_path: Path) -> None:
    params = make_params(
        max_num_seqs=3,
        max_num_batched_tokens=1024,
        max_model_len=512,
        enable_chunked_prefill=False,
        enable_prefix_caching=False,
        block_size=32,
        scheduling_policy="priority",
        gpu_memory_utilization=0.5,
    )
    with open_engine(params, folder=tmp_path) as engine:
        assert engine.effective() == {
            "max_num_seqs": 3,
            "max_num_batched_tokens": 1024,
            "max_model_len": 512,
            "enable_chunked_prefill": False,
            "enable_prefix_caching": False,
            "block_size": 32,
            "scheduling_policy": "priority",
            "gpu_memory_utilization": 0.5,
            "static_batching": False,
            "async_scheduling": False,
        }
        for _ in range(2):
            stream(engine, WORDS * 8, 1)
        assert engine.sample()["prefix_cache_hits_tokens_total"] == 0
        port = int(engine.base_url.split(":")[2].split("/")[0])
        pids = engine.pids()
        assert len(pids) > 1  # the engine core is a process of its own
    assert is_port_free(port)
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_all_metrics_are_there(engine: Engine) -> None:
    before = engine.sample()
    assert {name for name, value in before.items() if value is None} == set()
    stream(engine, "one two three", SHORT)
    after = engine.sample()
    assert after["generation_tokens_total"] - before["generation_tokens_total"] == SHORT
    assert after["engine_ttft_count"] - before["engine_ttft_count"] == 1
    assert after["engine_ttft_s_sum"] > before["engine_ttft_s_sum"]
    assert after["kv_cache_capacity_bytes"] == 2**30


def test_max_num_seqs_bounds_what_runs_and_the_rest_waits(engine: Engine) -> None:
    with in_background(*[(engine, f"{n} {WORDS}", 48) for n in range(5)]):
        look_until(
            engine, lambda s: s["num_requests_running"] == 2 and s["num_requests_waiting"] == 3
        )
        assert look_until(engine, lambda s: s["kv_cache_used_tokens"])["kv_cache_usage"] > 0


def test_prefix_hits_move_and_a_reset_forgets(engine: Engine) -> None:
    def hits(prompt: str) -> int:
        before = engine.sample()["prefix_cache_hits_tokens_total"]
        stream(engine, prompt, 1)
        return int(engine.sample()["prefix_cache_hits_tokens_total"] - before)

    prompt = f"again {WORDS * 20}"  # 128 tokens a block on a CPU: two whole blocks and a rest
    assert hits(prompt) == 0
    assert hits(prompt) >= 256
    assert engine.reset_cache()
    assert hits(prompt) == 0


def test_tokens_are_counted_by_the_model(engine: Engine) -> None:
    count = engine.count_tokens
    assert count is not None
    assert count("hello world") == 2


def test_a_prompt_beyond_the_context_is_refused_with_a_reason(engine: Engine) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        stream(engine, WORDS * 100, 1)
    with caught.value as error:
        assert error.code == 400
        assert "maximum context length" in error.read().decode()


@pytest.mark.parametrize("static", [True, False])
def test_static_batching_makes_a_late_request_wait(tmp_path: Path, static: bool) -> None:
    with open_engine(make_params(static_batching=static), folder=tmp_path) as engine:
        assert engine.effective()["static_batching"] is static
        stream(engine, "warm", 2)
        with in_background((engine, "long " + WORDS, LONG)) as long:
            look_until(engine, lambda s: s["num_requests_running"] == 1)
            late_at_s, _ = stream(engine, "late", SHORT)
        _, long_ended_at_s = long[0]
        assert (late_at_s > long_ended_at_s - 0.2) is static
