"""Fires a list of requests from a process of its own and waits for it, watching the engine.

The caller's event loop, kernel and plots are in another process than the stamps. Whatever ends
the wait, the worker is ended with it, and every record that was written stays. It must not know
engines, plans, or how a latency is derived.
"""

import contextlib
import dataclasses
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import labkit
from labkit.client.stream import make_redact
from labkit.errors import LabkitError, ParamsError
from labkit.params import LoadParams
from labkit.workload import Request

CHECK_PERIOD_S = 0.25
MAX_TAIL_CHARS = 600


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load is; `num_done` counts ended requests, the failed ones included."""

    num_done: int
    num_error: int
    num_total: int
    completion_tokens: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A load that ran to its end; stamps in monotonic seconds, `num_done` includes errors."""

    started_at_s: float
    ended_at_s: float
    num_done: int
    num_error: int
    client_cpu_s: float


def fire(
    requests: list[Request],
    *,
    base_url: str,
    model: str,
    endpoint: str,
    load: LoadParams,
    api_key_env: str | None,
    extra_body: dict[str, Any],
    temperature: float,
    out: Path,
    on_progress: Callable[[Progress], None],
    check: Callable[[], None],
    on_start: Callable[[int], None],
    warmup: Sequence[Request] = (),
    on_warmup: Callable[[Progress], None] = lambda progress: None,
) -> LoadResult:
    """Send all requests, at most `load.max_concurrency` at once; their records are in `out`.

    `on_start` is given the worker's pid once it is ready, `on_progress` is called at most four
    times a second and once at the end, `check` about every 0.25 s. What `check` raises ends the
    load and is passed on. The requests of `warmup` go first, through the same process; they are in
    no count or stamp of the result and leave their records in `warmup.jsonl` beside `out`. A
    request that fails is a record, not an error. Raises ParamsError if the variable `api_key_env`
    is not set, LabkitError if the worker dies.
    """
    if api_key_env and not os.environ.get(api_key_env):
        raise ParamsError(
            f"expected the API key in the environment variable {api_key_env}, found it unset; "
            f"export {api_key_env}=..."
        )
    job = {
        "requests": [dataclasses.asdict(request) for request in requests],
        "warmup": [dataclasses.asdict(request) for request in warmup],
        "warmup_out": str(out.with_name("warmup.jsonl")),
        "base_url": base_url,
        "model": model,
        "endpoint": endpoint,
        "max_concurrency": load.max_concurrency,
        "timeout_s": load.request_timeout_s,
        "api_key_env": api_key_env,
        "extra_body": extra_body,
        "temperature": temperature,
        "out": str(out),
    }
    with tempfile.TemporaryFile() as stderr, _start(stderr) as worker:
        try:
            for event in _listen(worker, job, check):
                kind = event.pop("event", None)
                if kind == "ready":
                    on_start(worker.pid)
                elif kind == "warmup":
                    on_warmup(Progress(num_total=len(warmup), **event))
                elif kind == "progress":
                    on_progress(Progress(num_total=len(requests), **event))
                elif kind == "done":
                    tokens = event.pop("completion_tokens")
                    result = LoadResult(**event)
                    on_progress(_finish(result, len(requests), tokens))
                    return result
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(timeout=5)
        finally:
            worker.kill()
        key = os.environ.get(api_key_env) if api_key_env else None
        raise LabkitError(_tell_death(worker.wait(), stderr, out, make_redact(key)))


def _start(stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    root = str(Path(labkit.__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "labkit.client.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the parent, which then ends the worker
    )


def _listen(
    worker: subprocess.Popen[bytes], job: dict[str, Any], check: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    """Yield the worker's events until its stdout ends, calling `check` in between."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    told = memoryview(json.dumps(job).encode() + b"\n")
    try:
        while told:
            told = told[os.write(worker.stdin.fileno(), told) :]
    except BrokenPipeError:
        return
    rest = b""
    check_at_s = time.monotonic() + CHECK_PERIOD_S
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(max(0.0, check_at_s - time.monotonic())):
                piece = os.read(worker.stdout.fileno(), 65536)
                if not piece:
                    return
                *lines, rest = (rest + piece).split(b"\n")
                yield from map(json.loads, lines)
            if time.monotonic() >= check_at_s:
                check()
                check_at_s = time.monotonic() + CHECK_PERIOD_S


def _finish(result: LoadResult, num_total: int, completion_tokens: int) -> Progress:
    return Progress(
        num_done=result.num_done,
        num_error=result.num_error,
        num_total=num_total,
        completion_tokens=completion_tokens,
        elapsed_s=result.ended_at_s - result.started_at_s,
    )


def _tell_death(code: int, stderr: IO[bytes], out: Path, redact: Callable[[str], str]) -> str:
    stderr.seek(0)
    tail = redact(stderr.read().decode(errors="replace"))[-MAX_TAIL_CHARS:]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return (
        f"expected the load client to send every request, found it ended with {how}; "
        f"{out} holds what was recorded; its last words: {' '.join(tail.split()) or 'none'}"
    )
