"""The vLLM adapter on real vLLM for CPU: `make test-vllm`. It proves the adapter, not speed."""

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from labkit.engines import Engine, check_engines, open_engine
from labkit.engines.process import is_port_free
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

pytestmark = pytest.mark.real

LONG, SHORT = 96, 8
WORDS = "the river ran past the old mill and the children counted every stone in it again "


def make_params(**values: Any) -> EngineParams:
    for name in ("LABKIT_VLLM", "LABKIT_HF_MODEL"):
        if not os.environ.get(name):
            pytest.skip(f"{name} is not set: run `make test-vllm`")
    env = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_OMP_THREADS_BIND": "0"}
    base = {
        "kind": "vllm",
        "executable": os.environ["LABKIT_VLLM"],
        "model": os.environ["LABKIT_HF_MODEL"],
        "max_num_seqs": 4,
        "max_num_batched_tokens": 256,
        "max_model_len": 1024,
        "start_timeout_s": 300,
    }
    values = {**base, **values}
    extra_args = {"enforce-eager": True, **values.pop("extra_args", {})}
    env |= values.pop("env", {})
    if "kv-cache-memory-bytes" in extra_args:
        del env["VLLM_CPU_KVCACHE_SPACE"]  # it would win
    return EngineParams.model_validate({**values, "env": env, "extra_args": extra_args})


def stream(engine: Engine, prompt: str, max_tokens: int) -> tuple[float, float]:
    """Return when the first text of a completion came and when it ended, in monotonic seconds."""
    body = {"model": engine.model, "prompt": prompt, "max_tokens": max_tokens, "stream": True,
            "temperature": 0, **engine.request_options()}  # fmt: skip
    request = urllib.request.Request(
        f"{engine.base_url}/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )  # fmt: skip
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    first_at_s = 0.0
    with opener.open(request, timeout=120) as answer:
        for line in answer:
            if line.startswith(b"data: {") and not first_at_s:
                first_at_s = time.monotonic()
    return first_at_s, time.monotonic()


@contextmanager
def in_background(*calls: tuple[Engine, str, int]) -> Iterator[list[tuple[float, float]]]:
    """Stream several completions at once; the block's end waits for them."""
    ended: list[tuple[float, float]] = [(0.0, 0.0)] * len(calls)

    def run(index: int, call: tuple[Engine, str, int]) -> None:
        ended[index] = stream(*call)

    threads = [threading.Thread(target=run, args=(n, call)) for n, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    yield ended
    for thread in threads:
        thread.join()


def look_until(engine: Engine, what: Any, timeout_s: float = 30) -> dict[str, Any]:
    """Return the first look at the engine that `what` accepts."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        found = engine.sample()
        if what(found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"no such look within {timeout_s} s, the last one was {found}")


def watch(engine: Engine) -> None:
    """Look after the engine for up to 10 s, as a load does."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        engine.check()
        time.sleep(0.02)


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


def test_death_is_told_within_two_seconds(tmp_path: Path) -> None:
    with open_engine(make_params(), folder=tmp_path) as engine:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        began_at_s = time.monotonic()
        with pytest.raises(EngineError, match="exit code 137"):
            watch(engine)
        assert time.monotonic() - began_at_s < 2


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"extra_args": {"foo-bar": 1}}, "unrecognized arguments: --foo-bar"),
        ({"max_num_seqs": 8, "max_num_batched_tokens": 4}, "greater than or equal to max_num_seqs"),
        (
            {"enable_chunked_prefill": False, "max_num_batched_tokens": 512},
            r"\(512\) is smaller than max_model_len \(1024\)",
        ),
        ({"max_model_len": 100_000}, r"\(100000\) is greater than the derived"),
        ({"block_size": 16}, "multiple of 32 on a CPU"),
        ({"extra_args": {"max-num-active-seqs": 9}}, "cannot be greater than max_num_seqs"),
        ({"scheduling_policy": "lifo"}, "invalid choice: 'lifo'"),
        ({"model": "/no/such/folder"}, "Repo id must be in the form"),
    ],
)
def test_its_own_parser_refuses_before_a_launch(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        check_engines([make_params(**values)])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"extra_args": {"foo-bar": 1}}, "unknown_flag"),
        ({"max_num_seqs": 8, "max_num_batched_tokens": 4}, "bad_combination"),
        ({"max_model_len": 100_000}, "context_too_long"),
        ({"block_size": 16}, "bad_combination"),
        ({"model": "/no/such/folder"}, "model_not_found"),
        (
            {"max_model_len": 8192, "extra_args": {"kv-cache-memory-bytes": 60_000_000}},
            "kv_too_small",
        ),
    ],
)  # fmt: skip
def test_a_start_that_fails_is_classified(
    tmp_path: Path, values: dict[str, Any], kind: str
) -> None:
    with (
        pytest.raises(EngineError) as caught,
        open_engine(make_params(**values), folder=tmp_path),
    ):
        pass
    assert caught.value.kind == kind, caught.value
