"""A loopback server that answers as a test tells it, in a thread with its own event loop.

It writes bytes by itself, so that it can also answer wrongly, and keeps the monotonic stamp of
each piece just before it is sent.
"""

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class Call:
    """One request that came in, and the way back."""

    path: str
    headers: dict[str, str]
    body: Any
    writer: asyncio.StreamWriter
    closed: asyncio.Event
    sent_at_s: list[float] = field(default_factory=list)

    async def write(self, piece: bytes) -> None:
        self.sent_at_s.append(time.monotonic())
        self.writer.write(piece)
        await self.writer.drain()

    async def reply(self, status: int, body: Any, headers: str = "") -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(text.encode())}\r\n{headers}\r\n"
        await self.write(head.encode() + text.encode())

    async def stream(self, *pieces: bytes, gap_s: float = 0.0) -> None:
        await self.write(HEAD)
        for piece in pieces:
            if gap_s:
                await asyncio.sleep(gap_s)
            await self.write(piece)


Script = Callable[[Call], Awaitable[None]]


@dataclass
class Server:
    """Where it listens and what it was asked so far."""

    url: str
    calls: list[Call] = field(default_factory=list)
    running: int = 0
    max_running: int = 0
    num_connections: int = 0


@contextlib.contextmanager
def serve(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Answer each request with `script` until the block ends; by https with a context."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = Server("")
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.num_connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            closed = asyncio.Event()
            body = json.loads(raw) if raw else None
            call = Call(first.split()[1], headers, body, writer, closed)
            server.calls.append(call)
            server.running += 1
            server.max_running = max(server.max_running, server.running)
            watch = asyncio.create_task(_watch(reader, closed))
            try:
                await script(call)
            finally:
                server.running -= 1
                watch.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    async def start() -> asyncio.Server:
        listening = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
        scheme = "https" if tls else "http"
        server.url = f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        return listening

    async def stop() -> None:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    listening = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _watch(reader: asyncio.StreamReader, closed: asyncio.Event) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1024):
            pass
    closed.set()


def event(chunk: Any) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


def text(value: str, finish_reason: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "text": value, "finish_reason": finish_reason}]})


def delta(value: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": value, "finish_reason": finish_reason}]})


def usage(prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> bytes:
    counts = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }
    return event({"choices": [], "usage": counts})


DONE = b"data: [DONE]\n\n"


async def answer(call: Call) -> None:
    """Answer as a good engine does: max_tokens pieces of text, 2 ms apart, then usage."""
    num_tokens = call.body["max_tokens"]
    pieces = [text(f" {number}") for number in range(num_tokens)]
    num_prompt = len(call.body["prompt"].split())
    tail = text("", "length") + usage(num_prompt, num_tokens) + DONE
    await call.stream(*pieces, tail, gap_s=0.002)
