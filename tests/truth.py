"""A server of a process of its own that answers on a schedule and tells when it sent each piece.

`python tests/truth.py` prints its port. Each answer is: headers at once, after `ttft_s` the first
of `max_tokens` pieces, the others `gap_s` apart on an absolute schedule, then usage. It keeps the
monotonic stamp of each piece just before it is handed to the socket; the monotonic clock is the
same for all processes of a machine. GET /stamps returns {request_id: [stamps]}; a request's id is
the first word of its prompt. With `stall` set in the query of POST /stall?at_s=..&for_s=.. nothing
is sent in that window, as by an engine that stops for a while.
"""

import asyncio
import json
import sys
import time
from typing import Any

STAMPS: dict[str, list[float]] = {}
STALL = [0.0, 0.0]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def frame(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


PIECE = frame(b'data: {"choices":[{"index":0,"text":" word","finish_reason":null}]}\n\n')


async def main(ttft_s: float, gap_s: float) -> None:
    loop = asyncio.get_running_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            route = head.split(" ", 2)[1]
            if route == "/stamps":
                body = json.dumps(STAMPS).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
                return
            if route.startswith("/stall"):
                STALL[:] = [float(part) for part in route.split("/")[2:]]
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                return
            lengths = [line for line in head.lower().split("\r\n") if "content-length" in line]
            body = json.loads(await reader.readexactly(int(lengths[0].split(":")[1])))
            await answer(writer, body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(writer: asyncio.StreamWriter, body: Any) -> None:
        came_at_s = time.monotonic()
        stamps = STAMPS[body["prompt"].split()[0]] = [came_at_s]
        writer.write(HEAD)
        for number in range(body["max_tokens"]):
            due_at_s = came_at_s + ttft_s + number * gap_s
            if STALL[0] <= due_at_s < STALL[1]:
                due_at_s = STALL[1]
            if (wait_s := due_at_s - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            stamps.append(time.monotonic())
            writer.write(PIECE)
        usage = json.dumps(
            {
                "choices": [{"index": 0, "text": "", "finish_reason": "length"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": body["max_tokens"]},
            }
        )
        writer.write(frame(f"data: {usage}\n\ndata: [DONE]\n\n".encode()) + b"0\r\n\r\n")
        await writer.drain()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), float(sys.argv[2])))
