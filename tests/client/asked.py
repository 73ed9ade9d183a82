"""One request that is sent to a scripted server, and the record that is made of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from scripted import Call, serve

from labkit.client.exchange import Exchange
from labkit.client.record import describe
from labkit.client.stream import Target, make_client, make_redact, send
from labkit.workload import Request


def ask(
    script: Callable[[Call], Awaitable[None]] | None,
    *,
    url: str | None = None,
    endpoint: str = "completions",
    timeout_s: float = 5.0,
    api_key: str | None = None,
    wait_s: float = 0.0,
) -> tuple[dict[str, Any], Call | None]:
    """Return the record of one request, and what a scripted server saw of it."""

    async def once(base_url: str) -> dict[str, Any]:
        client = make_client(base_url, api_key)
        target = Target(base_url, "m", endpoint, 0.0, {"ignore_eos": True}, timeout_s)
        now_s = time.monotonic()
        request = Request("r00000", (("user", "time people year"),), 4, 3)
        exchange = Exchange(request.request_id, now_s, now_s + wait_s)
        await send(client, target, request, request.messages, exchange)
        await client.close()
        return (await describe(exchange, make_redact(api_key)))[0]

    if script is None:
        assert url is not None
        return asyncio.run(once(url)), None
    with serve(script) as server:
        record = asyncio.run(once(server.url))
        return record, server.calls[0]


def streaming(*pieces: bytes, gap_s: float = 0.0) -> Callable[[Call], Awaitable[None]]:
    """Return a script that streams the pieces, each after the gap."""

    async def script(call: Call) -> None:
        await call.stream(*pieces, gap_s=gap_s)

    return script
