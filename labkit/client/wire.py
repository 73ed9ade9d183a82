"""The transport of the load: one connection a request, bytes stamped as the socket yields them.

It stands below the openai client in place of its usual transport. A piece of the answer costs one
callback: it is stamped and kept, and nobody is woken until the answer has ended, so neither other
requests nor parsing can delay a stamp. The connection is set up before the request is due, and at
that moment only its bytes are written. A connection serves one request: an engine may drop a
kept-alive one under load (llama.cpp does), and a request sent on a stale one dies without being
the engine's fault. It must not know what an answer means or when a request is due.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator

import httptools
import httpx2

from labkit.client.exchange import Exchange, current
from labkit.client.tls import TLS_ALERT


class Wire(httpx2.AsyncBaseTransport):
    """Sends each request on a connection of its own and keeps its answer in the exchange."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """Take the context of an https address; it takes too long to make once a load runs."""
        self._tls = tls

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Connect, send when it is due, and return once the head of the answer is there.

        Raises httpx2.ConnectError or httpx2.RemoteProtocolError, as other transports do.
        """
        exchange = current.get()
        reply = Reply(exchange)
        body = await request.aread()
        await self._connect(request, reply)
        try:
            reply.send_when_due(_frame(request) + body)
            status = await reply.head
        except BaseException:
            reply.close()
            raise
        return httpx2.Response(
            status, headers=reply.headers, stream=_Rest(reply, told=status >= 300), request=request
        )

    async def _connect(self, request: httpx2.Request, reply: "Reply") -> None:
        url = request.url
        secure = url.scheme == "https"
        assert secure == (self._tls is not None), "a context for https, none for http"
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: reply,
                url.host,
                url.port or (443 if secure else 80),
                ssl=self._tls,
            )
        except OSError as error:
            raise httpx2.ConnectError(str(error), request=request) from error


class Reply(asyncio.Protocol):
    """One connection: writes the request, stamps what comes, tells when head and end are there."""

    def __init__(self, exchange: Exchange) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.exchange = exchange
        self._loop = asyncio.get_running_loop()
        self.head: asyncio.Future[int] = self._loop.create_future()
        self.end: asyncio.Future[None] = self._loop.create_future()
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._now_s = 0.0

    def send_when_due(self, data: bytes) -> None:
        """Write the request at `exchange.released_at_s`, at once if that is past."""
        due_at_s = self.exchange.released_at_s
        if due_at_s > self._loop.time():
            self._loop.call_at(due_at_s, self._send, data)
        else:
            self._send(data)

    def close(self) -> None:
        """Close the connection; what was received stays."""
        if self._transport is not None:
            self._transport.close()

    def _send(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self.exchange.sent_at_s = time.monotonic()
        self._transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._now_s = time.monotonic()
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            told = f"not HTTP: {error or type(error).__name__}"
            if data.startswith(TLS_ALERT):
                told = "not HTTP but TLS; use https://"
            self._fail(httpx2.RemoteProtocolError(told))
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.head.done():
            told = str(error or "the server closed the connection without an answer")
            self._fail(httpx2.RemoteProtocolError(told))
        elif error is not None or self._cut():
            told = str(error or "the connection closed inside the body")
            self._fail(httpx2.RemoteProtocolError(told))
        elif not self.end.done():
            self.end.set_result(None)
        # both know this reply, and in a ring nothing is freed until old garbage is collected
        self._parser = self._transport = None

    def _cut(self) -> bool:
        """Return whether the head promised more than came: a length, or a last chunk."""
        if self.end.done():
            return False
        names = {name.lower() for name, _ in self.headers}
        return b"content-length" in names or b"transfer-encoding" in names

    def _fail(self, error: Exception) -> None:
        for future in (self.head, self.end):
            if not future.done():
                future.set_exception(error)
                future.exception()  # whoever waits is told; nobody need be

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200 and not self.head.done():
            self.exchange.headers_at_s = self._now_s
            self.exchange.http_status = status
            self.head.set_result(status)

    def on_body(self, piece: bytes) -> None:
        self.exchange.pieces.append((self._now_s, piece))

    def on_message_complete(self) -> None:
        if self.head.done() and not self.end.done():
            self.end.set_result(None)
            self.close()
        elif not self.head.done():  # 100 Continue: the answer itself is still to come
            self.headers.clear()


class _Rest(httpx2.AsyncByteStream):
    """The body as the openai client sees it: empty, or all of it where it explains a refusal."""

    def __init__(self, reply: Reply, *, told: bool) -> None:
        self._reply = reply
        self._told = told

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await self._reply.end
        if self._told:
            yield b"".join(piece for _, piece in self._reply.exchange.pieces)

    async def aclose(self) -> None:
        self._reply.close()


def _frame(request: httpx2.Request) -> bytes:
    """Return the head of the request as HTTP/1.1 wants it."""
    target = request.url.raw_path
    lines = [request.method.encode() + b" " + target + b" HTTP/1.1"]
    lines += [
        name + b": " + value
        for name, value in request.headers.raw
        if name.lower() not in (b"connection", b"accept-encoding")
    ]
    lines += [b"Connection: close", b"Accept-Encoding: identity", b"", b""]
    return b"\r\n".join(lines)
