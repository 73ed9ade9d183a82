"""An https endpoint behind a proxy: the proxy carries bytes, the certificate is the endpoint's."""

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from scripted import Call, answer, serve

from labkit.client.exchange import Exchange
from labkit.client.record import describe
from labkit.client.stream import Target, make_client, send
from labkit.client.verify import verify_endpoint
from labkit.errors import EndpointError
from labkit.workload import Request

URL = "https://engine.example/v1"
REQUEST = Request("r00000", (("user", "time people year"),), 4, 3)


@contextlib.contextmanager
def tunnel(to_port: int) -> Iterator[tuple[str, list[str]]]:
    """Be a proxy whose every CONNECT ends at one local port; yields its URL and what was asked."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asked: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        inner = await asyncio.open_connection("127.0.0.1", to_port)
        await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))

    async def start() -> asyncio.Server:
        return await asyncio.start_server(handle, "127.0.0.1", 0)

    async def stop() -> None:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def ask() -> dict[str, Any]:
    async def once() -> Exchange:
        client = make_client(URL, None)
        now_s = time.monotonic()
        exchange = Exchange(REQUEST.request_id, now_s, now_s)
        target = Target(URL, "m", "completions", 0.0, {}, 5.0)
        await send(client, target, REQUEST, REQUEST.messages, exchange)
        await client.close()
        return exchange

    return asyncio.run(describe(asyncio.run(once()), str))[0]


async def script(call: Call) -> None:
    if call.body and call.body.get("stream"):
        await answer(call)
    elif call.body:
        await call.reply(200, {"choices": [{"text": " four", "finish_reason": "length"}]})
    else:
        await call.reply(200, {"data": [{"id": "m"}]})


@pytest.mark.parametrize("known", [True, False], ids=["trusted", "unknown"])
def test_https_behind_a_proxy_trusts_what_ssl_cert_file_names(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("engine.example").configure_cert(context)
    path = tmp_path / "ca.pem"
    (authority if known else trustme.CA()).cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serve(script, context) as server:
        port = int(server.url.removesuffix("/v1").rpartition(":")[2])
        with tunnel(port) as (proxy, asked):
            monkeypatch.setenv("https_proxy", proxy)
            record = ask()
            assert asked == ["CONNECT engine.example:443 HTTP/1.1"]
            if known:
                assert (record["status"], len(record["chunk_at_s"])) == ("ok", 4)
                assert verify_endpoint(URL).model == "m"
                return
            refused = "the server's certificate is refused (unable to get local issuer certificate)"
            assert (record["status"], record["error_kind"]) == ("error", "tls")
            assert record["error_message"].startswith(f"{refused}; let SSL_CERT_FILE name")
            with pytest.raises(EndpointError) as caught:
                verify_endpoint(URL, model="m")
            assert refused in str(caught.value)
        assert server.calls == []
