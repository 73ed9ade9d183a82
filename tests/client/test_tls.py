"""Loads and the first question over TLS, with certificates that were made here."""

import asyncio
import contextlib
import datetime
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme
from scripted import DONE, Call, answer, serve, text

from labkit.client.exchange import Exchange, current
from labkit.client.load import Client, Order
from labkit.client.record import describe
from labkit.client.stream import Target, make_client, send
from labkit.client.tls import explain, find_tls_error
from labkit.client.verify import verify_endpoint
from labkit.client.wire import Wire
from labkit.errors import EndpointError
from labkit.params import LoadParams
from labkit.records import read_jsonl
from labkit.workload import Request

REQUEST = Request("r00000", (("user", "time people year"),), 4, 3)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


def make_server_context(authority: trustme.CA, name: str = "127.0.0.1", **dates: Any) -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **dates).configure_cert(context)
    return context


def ask(url: str, *, wait_s: float = 0.0) -> dict[str, Any]:
    """Send one request as a load does and return its record."""

    async def once() -> dict[str, Any]:
        client = make_client(url, None)
        now_s = time.monotonic()
        exchange = Exchange(REQUEST.request_id, now_s, now_s + wait_s)
        target = Target(url, "m", "completions", 0.0, {}, 5.0)
        await send(client, target, REQUEST, REQUEST.messages, exchange)
        await client.close()
        return (await describe(exchange, str))[0]

    return asyncio.run(once())


def refuse(url: str) -> str:
    """Return what the first question to an endpoint ends in."""
    with pytest.raises(EndpointError) as caught:
        verify_endpoint(url, model="m", timeout_s=5.0)
    return str(caught.value)


def check_refusal(url: str, told: str, todo: str) -> None:
    """Check that a load and the first question name the fault and what to do, in one line."""
    record = ask(url)
    assert (record["status"], record["error_kind"]) == ("error", "tls")
    assert record["error_message"] == f"{told}; {todo}"
    assert record["sent_at_s"] is record["headers_at_s"] is record["http_status"] is None
    assert refuse(url) == f"expected a server at {url}, found {told}; {todo}"


@contextlib.contextmanager
def serve_bytes(data: bytes) -> Iterator[str]:
    """Answer whatever comes with the same bytes and close; yields host and port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        writer.write_eof()
        await reader.read()
        writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(handle, "127.0.0.1", 0)

    async def stop() -> None:
        server.close()
        await asyncio.sleep(0)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def offering() -> Callable[[Call], Awaitable[None]]:
    async def script(call: Call) -> None:
        if call.path.endswith("/models"):
            await call.reply(200, {"data": [{"id": "m"}]})
        else:
            await call.reply(200, {"choices": [{"text": " four", "finish_reason": "length"}]})

    return script


@pytest.mark.usefixtures("trusted")
def test_a_stream_over_tls_has_the_stamps_of_the_server(authority: trustme.CA) -> None:
    async def script(call: Call) -> None:
        await call.stream(text("a"), text("b", "stop"), DONE, gap_s=0.05)

    with serve(script, make_server_context(authority)) as server:
        assert server.url.startswith("https://")
        record = ask(server.url, wait_s=0.2)
        (call,) = server.calls
    head, first, second, _ = call.sent_at_s
    assert (record["status"], record["http_status"]) == ("ok", 200)
    assert len(record["chunk_at_s"]) == 2
    assert 0 <= record["headers_at_s"] - head < 0.03
    assert 0 <= record["first_token_at_s"] - first < 0.03
    assert 0 <= record["last_token_at_s"] - second < 0.03
    # the handshake is over before the request is due, so it is in no latency
    assert 0 <= record["sent_at_s"] - record["released_at_s"] < 0.02
    assert record["sent_at_s"] <= head


@pytest.mark.usefixtures("trusted")
def test_the_context_is_made_before_any_request(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(answer, make_server_context(authority)) as server:
        client = make_client(server.url, None)
        monkeypatch.setattr(ssl, "create_default_context", None)

        async def once() -> Exchange:
            exchange = Exchange(REQUEST.request_id, time.monotonic(), time.monotonic())
            target = Target(server.url, "m", "completions", 0.0, {}, 5.0)
            await send(client, target, REQUEST, REQUEST.messages, exchange)
            await client.close()
            return exchange

        assert asyncio.run(once()).fault is None


@pytest.mark.usefixtures("trusted")
def test_a_load_of_another_process_goes_over_tls(authority: trustme.CA, tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    requests = [Request(f"r{index}", REQUEST.messages, 4, 3) for index in range(4)]
    with serve(answer, make_server_context(authority)) as server, Client() as client:
        target = Target(server.url, "m", "completions", 0.0, {}, 5.0)
        load = LoadParams(max_concurrency=2)
        order = Order(requests, [], target, load, 1, None, out)
        told = client.fire(order, on_progress=lambda progress: None, check=lambda: None)
    assert (told.num_done, told.num_error) == (4, 0)
    assert [len(record["chunk_at_s"]) for record in read_jsonl(out)] == [4] * 4


@pytest.mark.usefixtures("trusted")
def test_a_trusted_certificate_is_verified_and_trusted_by_the_first_question(
    authority: trustme.CA,
) -> None:
    with serve(offering(), make_server_context(authority)) as server:
        assert verify_endpoint(server.url).base_url == server.url


@pytest.mark.parametrize("place", ["empty", "absent"])
def test_a_certificate_of_an_unknown_authority_is_refused(
    place: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "other.pem"
    if place == "empty":
        trustme.CA().cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    todo = "let SSL_CERT_FILE name a PEM file with the certificate of its CA"
    if place == "absent":
        todo = f"SSL_CERT_FILE names no file: {path}"
    with serve(answer, make_server_context(authority)) as server:
        told = "the server's certificate is refused (unable to get local issuer certificate)"
        check_refusal(server.url, told, todo)
        assert server.calls == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_certificate_for_another_host_is_refused(host: str, authority: trustme.CA) -> None:
    kind = "IP address" if host == "127.0.0.1" else "Hostname"
    with serve(answer, make_server_context(authority, "other.example")) as server:
        told = f"{kind} mismatch, certificate is not valid for '{host}'"
        url = server.url.replace("127.0.0.1", host)
        check_refusal(
            url,
            f"the server's certificate is refused ({told})",
            "use the host name that it is made for",
        )
        assert server.calls == []


@pytest.mark.usefixtures("trusted")
def test_a_certificate_that_has_expired_is_refused(authority: trustme.CA) -> None:
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    context = make_server_context(
        authority, not_before=past, not_after=past + datetime.timedelta(days=1)
    )
    with serve(answer, context) as server:
        told = "the server's certificate is refused (certificate has expired)"
        check_refusal(server.url, told, "renew it, or set this machine's clock")


def test_https_to_a_server_of_plain_http_says_so() -> None:
    with serve_bytes(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as place:
        record = ask(f"https://{place}/v1")
        assert (record["status"], record["error_kind"]) == ("error", "tls")
        for told in (record["error_message"], refuse(f"https://{place}/v1")):
            assert "no TLS could be agreed on (" in told
            assert told.endswith("; use http:// if the server speaks plain HTTP")
            assert "\n" not in told


def test_plain_http_to_a_server_of_tls_is_an_error_that_names_https(
    authority: trustme.CA,
) -> None:
    with serve(answer, make_server_context(authority)) as server:
        url = server.url.replace("https://", "http://")
        record = ask(url)
        assert (record["status"], record["error_kind"]) == ("error", "connect")
        assert record["headers_at_s"] is None
        assert refuse(url).endswith("and host and port, and whether it wants https://")
        assert server.calls == []


def test_an_alert_of_tls_in_answer_to_plain_http_is_known() -> None:
    with serve_bytes(b"\x15\x03\x01\x00\x02\x02\x46") as place:  # protocol_version, fatal
        record = ask(f"http://{place}/v1")
    assert record["error_kind"] == "connect"
    assert record["error_message"] == "RemoteProtocolError: not HTTP but TLS; use https://"


def test_a_transport_without_a_context_sends_nothing_to_an_https_address() -> None:
    async def once() -> None:
        current.set(Exchange("r", 0.0, 0.0))
        request = httpx2.Request("POST", "https://127.0.0.1:1/v1", content=b"")
        with pytest.raises(AssertionError, match="a context for https"):
            await Wire().handle_async_request(request)

    asyncio.run(once())


def test_the_cause_is_found_however_deep_it_is() -> None:
    inner = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
    middle, outer = OSError("a"), RuntimeError("b")
    middle.__context__, outer.__cause__ = inner, middle
    assert find_tls_error(outer) is inner
    assert find_tls_error(OSError("c")) is find_tls_error(None) is None
    todo = "use http:// if the server speaks plain HTTP"
    assert explain(inner) == f"no TLS could be agreed on (wrong version number); {todo}"
