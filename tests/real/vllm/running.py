"""A real vLLM for CPU: its params, and completions streamed to it while it is looked at."""

import json
import os
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labkit.engines import Engine
from labkit.params import EngineParams

WORDS = "the river ran past the old mill and the children counted every stone in it again "


def make_params(**values: Any) -> EngineParams:
    """Return params of a small vLLM; the test is skipped where it isn't installed."""
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
