"""The adapter on real SGLang for CPU: `make test-sglang`.

It proves the adapter only: that every knob arrives, that what is read back and counted is true,
that failures are told and nothing is left behind. The kernels are stood in for (stub/sgl_kernel),
so its speed says nothing about SGLang.
"""

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from labkit.engines import Engine, check_engines, open_engine
from labkit.engines.process import is_port_free
from labkit.engines.scrape import FIELDS
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

HERE = Path(__file__).parent
PROGRAM = os.environ.get("LABKIT_SGLANG", str(HERE.parents[2] / ".venv-sglang/bin/sglang"))
MODEL = os.environ.get("LABKIT_HF_MODEL", "")
UNKNOWN = {"engine_decode_time_s_sum", "engine_decode_time_count"}
"""What SGLang does not tell."""
PROMPT = "Tell me what the sea said to the old man on the shore. " * 8

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not MODEL, reason="LABKIT_HF_MODEL names no Hugging Face folder"),
    pytest.mark.skipif(not Path(MODEL).is_dir(), reason=f"LABKIT_HF_MODEL: no folder {MODEL}"),
    pytest.mark.skipif(not Path(PROGRAM).exists(), reason=f"no SGLang at {PROGRAM}"),
]


def make_params(extra_args: dict | None = None, **values: object) -> EngineParams:
    found = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(HERE / "stub"), *([found] if found else [])])
    return EngineParams.model_validate(
        {
            "kind": "sglang",
            "model": MODEL,
            "executable": PROGRAM,
            "start_timeout_s": 240.0,
            "env": {
                "SGLANG_USE_CPU_ENGINE": "1",
                "HF_HUB_OFFLINE": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": path,
            },
            "extra_args": {
                "device": "cpu",
                "attention-backend": "torch_native",
                "disable-overlap-schedule": True,
                "skip-server-warmup": True,
                "max-total-tokens": 2048,
                **(extra_args or {}),
            },
            **values,
        }
    )


def complete(engine: Engine, prompt: str, max_tokens: int) -> tuple[float, float, dict]:
    """Return when the first text came, when the end came, and the usage."""
    body = {
        "model": engine.model,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        **engine.request_options(),
    }
    request = urllib.request.Request(
        f"{engine.base_url}/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    first_at_s, usage = 0.0, {}
    with urllib.request.urlopen(request, timeout=120) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            usage = chunk.get("usage") or usage
            if not first_at_s and any(choice["text"] for choice in chunk["choices"]):
                first_at_s = time.monotonic()
    return first_at_s, time.monotonic(), usage


def wait_running(engine: Engine, num_running: int) -> None:
    deadline_s = time.monotonic() + 60
    while engine.sample()["num_requests_running"] != num_running:
        assert time.monotonic() < deadline_s


def fire_late(engine: Engine) -> tuple[float, float, int]:
    """Return when a late request's first text came, when the long one ended, and who waited."""
    engine.reset_cache()
    with ThreadPoolExecutor(2) as pool:
        long: Future = pool.submit(complete, engine, "Count slowly.", 48)
        wait_running(engine, 1)
        late: Future = pool.submit(complete, engine, "And you?", 2)
        waiting = 0
        while not late.done():
            waiting = max(waiting, int(engine.sample()["num_requests_waiting"] or 0))
        return late.result()[0], long.result()[1], waiting


def count_hits(engine: Engine) -> int:
    """Send the same prompt again; return its tokens that came from the cache."""
    before = engine.sample()["prefix_cache_hits_tokens_total"]
    complete(engine, PROMPT, 2)
    return int((engine.sample()["prefix_cache_hits_tokens_total"] or 0) - (before or 0))


@contextmanager
def left_clean(params: EngineParams, folder: Path) -> Iterator[Engine]:
    """Open an engine, and hold that its port and processes are gone afterwards."""
    with open_engine(params, folder=folder) as engine:
        pids = engine.pids()
        port = int(engine.base_url.rpartition(":")[2].removesuffix("/v1"))
        assert len(pids) > 1
        yield engine
    assert is_port_free(port)
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


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


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Static batching, without a prefix cache and without chunks."""
    params = make_params(
        max_num_seqs=2,
        enable_chunked_prefill=False,
        enable_prefix_caching=False,
        gpu_memory_utilization=0.3,  # its own guess is below 0 without chunks
        static_batching=True,
    )
    with left_clean(params, tmp_path_factory.mktemp("static")) as engine:
        yield engine


def test_every_knob_arrives_switched_off(static: Engine) -> None:
    effective = static.effective()
    assert effective["static_batching"] is True
    assert effective["enable_prefix_caching"] is False
    assert effective["enable_chunked_prefill"] is False
    assert effective["max_num_seqs"] == 2


def test_a_late_request_waits_for_the_whole_batch(static: Engine) -> None:
    late_first_at_s, long_end_at_s, waiting = fire_late(static)
    assert late_first_at_s > long_end_at_s
    assert waiting == 1


def test_without_a_prefix_cache_nothing_is_found_again(static: Engine) -> None:
    complete(static, PROMPT, 2)
    assert count_hits(static) == 0


def test_a_kill_is_noticed(static: Engine) -> None:
    assert static.pid is not None
    os.kill(static.pid, signal.SIGKILL)
    killed_at_s = time.monotonic()
    told = ""
    while not told and time.monotonic() < killed_at_s + 2:
        try:
            static.check()
        except EngineError as error:
            told = str(error)
    assert "exit code 137" in told
    with pytest.raises(EngineError):
        static.sample()


@pytest.mark.parametrize(
    ("extra_args", "knobs", "told"),
    [
        ({"swap-space": 4}, {}, "unrecognized arguments: --swap-space 4"),
        ({"chunked-prefill-size": 64}, {"block_size": 48}, "must be divisible by page_size"),
        ({}, {"model": "/nowhere/at/all"}, "Repo id must"),
        ({}, {"max_model_len": 99999}, "greater than the derived context_length"),
        ({}, {"scheduling_policy": "first"}, "invalid choice: 'first'"),
    ],
)
def test_its_own_parser_refuses_before_a_launch(extra_args: dict, knobs: dict, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        check_engines([make_params(extra_args, **knobs)])


@pytest.mark.parametrize(
    ("extra_args", "knobs", "kind"),
    [
        ({"swap-space": 4}, {}, "unknown_flag"),
        ({"chunked-prefill-size": 64}, {"block_size": 48}, "bad_combination"),
        ({}, {"model": "/nowhere/at/all"}, "model_not_found"),
    ],
)
def test_a_start_that_fails_is_classified(
    extra_args: dict, knobs: dict, kind: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(EngineError) as error,
        open_engine(make_params(extra_args, **knobs), folder=tmp_path),
    ):
        pass
    assert error.value.kind == kind, str(error.value)
