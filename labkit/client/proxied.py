"""The transport of the load where a proxy stands between: httpx2's own, with its bytes stamped.

A proxy adds its own time to every latency, so the point says that there was one. It must not know
what an answer means.
"""

import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from labkit.client.exchange import Exchange, current
from labkit.client.pace import sleep_until


def find_proxy(base_url: str) -> str | None:
    """Return the proxy that the environment names for this URL, None for a direct connection."""
    parts = urllib.parse.urlsplit(base_url)
    if urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class Proxied(httpx2.AsyncBaseTransport):
    """Sends each request through a proxy, on a connection of its own."""

    def __init__(self, proxy: str, tls: ssl.SSLContext | None = None) -> None:
        """Take the proxy's URL and the context of an https address behind it."""
        self._inner = httpx2.AsyncHTTPTransport(
            verify=tls or True,
            proxy=proxy,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send when it is due and return once the head of the answer is there."""
        exchange = current.get()
        await sleep_until(exchange.released_at_s)
        exchange.sent_at_s = time.monotonic()

        async def trace(name: str, info: Mapping[str, Any]) -> None:
            if name.endswith("send_request_headers.started"):
                exchange.sent_at_s = time.monotonic()

        request.extensions["trace"] = trace
        response = await self._inner.handle_async_request(request)
        exchange.headers_at_s = time.monotonic()
        exchange.http_status = response.status_code
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Stamped(response.stream, exchange, told=response.status_code >= 300)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Stamped(httpx2.AsyncByteStream):
    """Keeps a body in the exchange as it comes; shows it only where it explains a refusal."""

    def __init__(self, inner: httpx2.AsyncByteStream, exchange: Exchange, *, told: bool) -> None:
        self._inner = inner
        self._exchange = exchange
        self._told = told

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._exchange.pieces.append((time.monotonic(), piece))
            if self._told:
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
