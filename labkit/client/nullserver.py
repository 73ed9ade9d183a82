"""A server that does no work: `python -m labkit.client.nullserver`, for the client's self-test.

It prints its port and ends when stdin closes. An answer has `max_tokens` pieces, `gap_s` apart if
the request says so, else as fast as they go. GET /stamps tells, by the first word of a prompt, when
the pieces were handed to the socket, on the monotonic clock that all processes of a machine share.
It must not know the client.
"""

import asyncio
import json
import os
import threading
import time
from typing import Any

_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
_AT_ONCE = 16
_stamps: dict[str, list[float]] = {}


def main() -> None:
    """Serve until stdin closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_serve())


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


async def _serve() -> None:
    server = await asyncio.start_server(_handle, "127.0.0.1", 0, backlog=1024)
    os.write(1, f"{server.sockets[0].getsockname()[1]}\n".encode())
    async with server:
        await server.serve_forever()


async def _handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        if head[0].startswith(b"get"):
            body = json.dumps(_stamps).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            return
        length = next(int(line.split(b":")[1]) for line in head if line.startswith(b"content-l"))
        await _answer(writer, json.loads(await reader.readexactly(length)))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _answer(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
    piece = _frame(
        {
            "id": "cmpl-0123456789abcdef",
            "object": "text_completion",
            "created": 0,
            "model": "null",
            "choices": [{"index": 0, "text": " word", "logprobs": None, "finish_reason": None}],
        }
    )
    count, gap_s = asked["max_tokens"], asked.get("gap_s", 0.0)
    writer.write(_HEAD)
    if gap_s:
        begun_at_s = time.monotonic()
        stamps = _stamps[asked["prompt"].split()[0]] = []
        for number in range(count):
            await asyncio.sleep(max(0.0, begun_at_s + number * gap_s - time.monotonic()))
            stamps.append(time.monotonic())
            writer.write(piece)
    else:
        for first in range(0, count, _AT_ONCE):
            writer.write(piece * min(_AT_ONCE, count - first))
            await writer.drain()
    end = {"choices": [{"index": 0, "text": "", "finish_reason": "length"}],
           "usage": {"prompt_tokens": 1, "completion_tokens": count}}  # fmt: skip
    writer.write(_frame(end) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    await writer.drain()


def _frame(event: dict[str, Any]) -> bytes:
    data = b"data: %s\n\n" % json.dumps(event).encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


if __name__ == "__main__":
    main()
