"""The process that sends the load: `python -m labkit.client.worker`.

It reads one job as a line of JSON on stdin, keeps `max_concurrency` requests in flight, appends
each record as its request ends, and tells its progress as lines of JSON on stdout. When stdin
closes, whoever started it is gone and it ends at once. Imports, the request path and its caches
are warmed against a server of its own before the clock starts, and the garbage collector rests
while the clock runs. It must not know engines, plans, or run folders.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from labkit.client.stream import Exchange, describe, make_client, make_redact, send
from labkit.records import JsonlWriter
from labkit.workload import Request

PROGRESS_PERIOD_S = 0.25
NUM_WARM = 3
_WARM_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    b'data: {"choices": [{"text": "a", "finish_reason": null}]}\n\n'
    b'data: {"choices": [{"text": "", "finish_reason": "stop"}],'
    b' "usage": {"prompt_tokens": 1, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
)


def main() -> None:
    """Read the job, run it, and return once every request has a record."""
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))  # one a request in flight
    asyncio.run(_run(job))


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(3)


def _emit(event: str, **fields: Any) -> None:
    line = json.dumps({"event": event, **fields}) + "\n"
    os.write(1, line.encode())


async def _run(job: dict[str, Any]) -> None:
    await _warm(job)
    api_key = os.environ[job["api_key_env"]] if job["api_key_env"] else None
    client = make_client(job["base_url"], api_key)
    redact = make_redact(api_key)
    _emit("ready")

    gc.collect()
    gc.freeze()
    gc.disable()
    if job["warmup"]:
        await _load(job, job["warmup"], Path(job["warmup_out"]), client, redact, "warmup")
    told = await _load(job, job["requests"], Path(job["out"]), client, redact, "progress")
    await client.close()
    _emit("done", **told)


async def _load(
    job: dict[str, Any],
    rows: list[dict[str, Any]],
    out: Path,
    client: AsyncOpenAI,
    redact: Callable[[str], str],
    event: str,
) -> dict[str, Any]:
    """Send these requests, keep a record of each, and return counts, stamps and CPU seconds."""
    requests = deque(Request(**row) for row in rows)
    ended: asyncio.Queue[Exchange] = asyncio.Queue()
    num_total = len(requests)
    with JsonlWriter(out) as writer:
        started_at_s = time.monotonic()
        cpu_before_s = time.process_time()

        async def work() -> None:
            while requests:
                request = requests.popleft()
                ended.put_nowait(
                    await send(client, request, intended_at_s=time.monotonic(), **_options(job))
                )

        async def keep() -> dict[str, Any]:
            counts = {"num_done": 0, "num_error": 0, "completion_tokens": 0}
            told_at_s = started_at_s
            while counts["num_done"] < num_total:
                record = await describe(await ended.get(), redact)
                writer.write(record)
                counts["num_done"] += 1
                counts["num_error"] += record["status"] == "error"
                counts["completion_tokens"] += record["completion_tokens"] or 0
                if (now_s := time.monotonic()) - told_at_s >= PROGRESS_PERIOD_S:
                    told_at_s = now_s
                    _emit(event, **counts, elapsed_s=now_s - started_at_s)
            return counts

        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(keep())
            slots = min(job["max_concurrency"], num_total)
            workers = [group.create_task(work()) for _ in range(slots)]
            await asyncio.gather(*workers)
            ended_at_s = time.monotonic()
        cpu_s = time.process_time() - cpu_before_s
    return {
        **keeper.result(),
        "started_at_s": started_at_s,
        "ended_at_s": ended_at_s,
        "client_cpu_s": cpu_s,
    }


def _options(job: dict[str, Any]) -> dict[str, Any]:
    names = ("model", "endpoint", "temperature", "extra_body", "timeout_s")
    return {name: job[name] for name in names}


async def _warm(job: dict[str, Any]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_WARM_ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        client = make_client(f"http://127.0.0.1:{port}/v1", None)
        for _ in range(NUM_WARM):
            exchange = await send(
                client,
                Request("warm", "a", 1, 1),
                **_options(job) | {"timeout_s": 5.0},
                intended_at_s=time.monotonic(),
            )
            await describe(exchange, str)
        await client.close()


if __name__ == "__main__":
    main()
