"""The process that sends: `python -m labkit.client.worker`.

It is told what to do in lines of JSON on stdin: a load to get ready, then the moment to begin. It
tells in lines of JSON on stdout that it is ready, how far it is, and that it is done. When stdin
closes, whoever started it is gone and it ends at once. Imports and the request path are warmed
against a server of its own, and only young garbage is collected. It must not know engines, plans,
run folders, or what the other workers do.
"""

import asyncio
import gc
import json
import os
import resource
import threading
import time
from typing import Any

from labkit.address import read_key
from labkit.client.sender import Sender
from labkit.client.stream import make_client, make_redact

_WARM_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    b'data: {"choices": [{"text": "a", "finish_reason": null}]}\n\n'
    b'data: {"choices": [{"text": "", "finish_reason": "stop"}],'
    b' "usage": {"prompt_tokens": 1, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
)
_WARM_TASK = [{"request_id": "warm", "messages": [["user", "a"]], "max_tokens": 1,
               "prompt_tokens": 1}]  # fmt: skip


def main() -> None:
    """Do what stdin says until it closes."""
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))  # one a request in flight
    asyncio.run(_serve())


async def _serve() -> None:
    loop, orders = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()

    def listen() -> None:
        rest = b""
        while piece := os.read(0, 1 << 20):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                loop.call_soon_threadsafe(orders.put_nowait, json.loads(line))
        os._exit(3)

    threading.Thread(target=listen, daemon=True).start()
    await _warm()
    gc.collect()
    gc.freeze()
    # Young garbage takes 0.2 ms to collect; all of it takes long enough to make stamps late.
    gc.set_threshold(2000, 1000, 1000)
    emit("ready")
    while True:
        job = await orders.get()
        api_key = read_key(job["api_key_env"])
        client = make_client(job["target"]["base_url"], api_key)
        sender = Sender(job, client, make_redact(api_key), emit)
        emit("armed")
        begin = await orders.get()
        gc.collect()
        told = await sender.run(begin["start_at_s"])
        await client.close()
        emit("done", **told)


def emit(event: str, **fields: Any) -> None:
    """Tell one event to whoever started this process."""
    os.write(1, json.dumps({"event": event, **fields}).encode() + b"\n")


def _ignore(event: str, **fields: Any) -> None:
    pass


async def _warm() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_WARM_ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        target = {"base_url": url, "model": "m", "endpoint": "completions", "temperature": 0.0,
                  "extra_body": {}, "timeout_s": 5.0}  # fmt: skip
        job = {"target": target, "mode": "closed", "tasks": [_WARM_TASK] * 3, "begins_s": [0.0],
               "limit": None, "out": os.devnull}  # fmt: skip
        client = make_client(url, None)
        await Sender(job, client, str, _ignore).run(time.monotonic())
        await client.close()


if __name__ == "__main__":
    main()
