"""A real SGLang for CPU: its params, completions streamed to it, and what it must leave behind.

The kernels are stood in for (stub/sgl_kernel), so its speed says nothing about SGLang.
"""

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from labkit.engines import Engine, open_engine
from labkit.engines.process import is_port_free
from labkit.params import EngineParams

HERE = Path(__file__).parent
PROGRAM = os.environ.get("LABKIT_SGLANG", str(HERE.parents[2] / ".venv-sglang/bin/sglang"))
MODEL = os.environ.get("LABKIT_HF_MODEL", "")
PROMPT = "Tell me what the sea said to the old man on the shore. " * 8

NEEDED = [
    pytest.mark.real,
    pytest.mark.skipif(not MODEL, reason="LABKIT_HF_MODEL names no Hugging Face folder"),
    pytest.mark.skipif(not Path(MODEL).is_dir(), reason=f"LABKIT_HF_MODEL: no folder {MODEL}"),
    pytest.mark.skipif(not Path(PROGRAM).exists(), reason=f"no SGLang at {PROGRAM}"),
]
"""The marks of every test here."""


def make_params(extra_args: dict | None = None, **values: object) -> EngineParams:
    """Return params of a small SGLang whose kernels are stood in for."""
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
    """Wait until as many requests run; an AssertionError says that they never did."""
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
