"""The transport over TLS: trusted, not trusted, for another name, and not TLS at all."""

import asyncio
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from scripted import DONE, Call, serve, text, usage

from labkit.client.exchange import Exchange
from labkit.client.record import describe
from labkit.client.stream import Target, make_client, send
from labkit.workload import Request

TLS = Path(__file__).parent.parent / "data" / "tls"
"""A certificate of tests for localhost and 127.0.0.1 that is its own authority, until 2126."""


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    return context


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))


async def answer(call: Call) -> None:
    await call.stream(text("a"), text("b", "stop"), usage(3, 2), DONE, gap_s=0.02)


def ask(url: str) -> dict[str, Any]:
    async def once() -> dict[str, Any]:
        client = make_client(url, None)
        target = Target(url, "m", "completions", 0.0, {}, 5.0)
        now_s = time.monotonic()
        request = Request("r00000", (("user", "time people year"),), 2, 3)
        exchange = Exchange(request.request_id, now_s, now_s)
        await send(client, target, request, request.messages, exchange)
        await client.close()
        return (await describe(exchange, str))[0]

    return asyncio.run(once())


@pytest.mark.usefixtures("trusted")
def test_a_stream_over_tls_is_stamped_as_it_comes(tls: ssl.SSLContext) -> None:
    with serve(answer, tls) as server:
        record = ask(server.url)
    assert (record["status"], record["completion_tokens"]) == ("ok", 2)
    [call] = server.calls
    _, first_at_s, second_at_s, *_ = call.sent_at_s
    for told, true in zip(record["chunk_at_s"], (first_at_s, second_at_s), strict=True):
        assert true <= told < true + 0.02


def test_a_certificate_that_nobody_trusts(tls: ssl.SSLContext) -> None:
    with serve(answer, tls) as server:
        record = ask(server.url)
    assert record["error_kind"] == "connect"
    assert "CERTIFICATE_VERIFY_FAILED" in record["error_message"]
    assert "\n" not in record["error_message"]
    assert record["sent_at_s"] is None
    assert not server.calls


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_another_name(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = asyncio.BaseEventLoop.getaddrinfo

    async def resolve(self: Any, host: str, *rest: Any, **more: Any) -> Any:
        return await real(self, "127.0.0.1" if host == "engine.test" else host, *rest, **more)

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    with serve(answer, tls) as server:
        record = ask(server.url.replace("127.0.0.1", "engine.test"))
    assert record["error_kind"] == "connect"
    assert "not valid for 'engine.test'" in record["error_message"]
    assert not server.calls


@pytest.mark.usefixtures("trusted")
def test_plain_http_spoken_to_tls(tls: ssl.SSLContext) -> None:
    with serve(answer, tls) as server:
        record = ask(server.url.replace("https:", "http:"))
    assert (record["status"], record["headers_at_s"]) == ("error", None)
    assert not server.calls
