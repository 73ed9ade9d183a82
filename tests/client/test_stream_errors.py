"""What is no answer is recorded as an error: its kind, its words, and no key among them."""

import asyncio
import threading

import pytest
from client.asked import ask, streaming
from scripted import DONE, HEAD, Call, event, serve, text

ERROR = event({"error": {"message": "out of memory", "code": 500}})


@pytest.mark.parametrize(
    ("pieces", "kind", "said"),
    [
        pytest.param((text("a"), ERROR), "stream_error", "out of memory", id="error"),
        pytest.param((text("a"), ERROR, DONE), "stream_error", "out of memory", id="error-done"),
        pytest.param((text("a"), DONE), "no_finish_reason", "finish_reason", id="no-finish"),
        pytest.param((text("a"),), "truncated", "without", id="truncated"),
        pytest.param((text("a"), b'data: {"cho'), "truncated", "without", id="cut-in-json"),
        pytest.param((text("", "stop"), DONE), "empty", "finish_reason stop", id="empty"),
        pytest.param((b"data: {nope\n\n", DONE), "malformed", "nope", id="malformed"),
        pytest.param((b"<html>hello</html>",), "bad_body", "hello", id="html"),
        pytest.param((b'{"error": "full"}',), "stream_error", "full", id="json-error"),
        pytest.param((), "bad_body", "none", id="nothing"),
    ],
)
def test_a_stream_that_is_no_answer_is_an_error(
    pieces: tuple[bytes, ...], kind: str, said: str
) -> None:
    record, _ = ask(streaming(*pieces))
    assert (record["status"], record["error_kind"]) == ("error", kind)
    assert said in record["error_message"] or said == "none"
    assert record["http_status"] == 200


def test_a_body_cut_by_the_transport_is_truncated() -> None:
    async def script(call: Call) -> None:
        await call.write(HEAD.replace(b"Connection", b"Content-Length: 9999\r\nConnection"))
        await call.write(text("a"))

    record, _ = ask(script)
    assert (record["error_kind"], len(record["chunk_at_s"])) == ("truncated", 1)
    assert record["completion_tokens"] == 1


def test_http_errors_keep_status_and_body() -> None:
    async def script(call: Call) -> None:
        await call.reply(400, {"error": {"message": "max_model_len 4096 exceeded" + "x" * 3000}})

    record, _ = ask(script)
    assert (record["error_kind"], record["http_status"]) == ("http_status", 400)
    assert "max_model_len 4096 exceeded" in record["error_message"]
    assert len(record["error_message"]) == 2000
    assert record["first_token_at_s"] is record["tokens_source"] is None


def test_nothing_is_retried() -> None:
    async def script(call: Call) -> None:
        await call.reply(503, "busy")

    with serve(script) as server:
        record, _ = ask(None, url=server.url)
        assert record["error_message"] == "busy"
        assert len(server.calls) == 1


def test_a_server_that_hangs_up_or_is_not_there() -> None:
    async def script(call: Call) -> None:
        return

    record, _ = ask(script)
    assert record["error_kind"] == "connect"
    with serve(script) as server:
        url = server.url
    record, _ = ask(None, url=url)
    assert record["error_kind"] == "connect"
    assert record["http_status"] is None
    assert record["sent_at_s"] is None, "nothing was sent"


@pytest.mark.parametrize("pieces", [(), (text("a"),)], ids=["before", "within"])
def test_a_timeout_ends_the_request_and_closes_its_connection(pieces: tuple[bytes, ...]) -> None:
    closed = threading.Event()

    async def script(call: Call) -> None:
        if pieces:
            await call.stream(*pieces)
        await asyncio.wait_for(call.closed.wait(), 5)
        closed.set()

    with serve(script) as server:
        record, _ = ask(None, url=server.url, timeout_s=0.2)
        assert closed.wait(5)
    assert record["error_kind"] == "timeout"
    assert len(record["chunk_at_s"]) == len(pieces)
    assert "0.2 s" in record["error_message"]


def test_the_key_is_sent_but_never_recorded() -> None:
    async def script(call: Call) -> None:
        await call.reply(401, {"error": f"wrong: {call.headers['authorization']}" + "x" * 5000})

    record, call = ask(script, api_key="sk-canary-123")
    assert call is not None
    assert call.headers["authorization"] == "Bearer sk-canary-123"
    assert "canary" not in str(record)
    assert "[redacted]" in record["error_message"]


@pytest.mark.parametrize("length", [1, 15, 180, 199, 1785, 1799, 1960, 1990, 7960, 7999])
@pytest.mark.parametrize("stream", [True, False])
def test_no_part_of_a_key_remains_where_a_text_is_cut(length: int, stream: bool) -> None:
    key = "sk-canary-1234567890-abcdefghij-klmnopqrst"
    said = "x" * length + key + "y" * 9000

    async def script(call: Call) -> None:
        await (call.stream(f"data: {said}\n\n".encode()) if stream else call.reply(200, said))

    record, _ = ask(script, api_key=key)
    assert record["error_kind"] in ("malformed", "bad_body")
    assert "canary" not in record["error_message"]
    assert "sk-" not in record["error_message"]


@pytest.mark.parametrize("status", [401, 404, 429])
def test_a_refusal_is_told_with_its_status_and_its_words(status: int) -> None:
    async def script(call: Call) -> None:
        await call.reply(status, {"error": {"message": f"no, {status}"}})

    record, _ = ask(script)
    assert (record["status"], record["error_kind"]) == ("error", "http_status")
    assert record["http_status"] == status
    assert f"no, {status}" in record["error_message"]
    assert record["headers_at_s"] >= record["sent_at_s"]


def test_what_is_no_http_is_an_error_with_what_came() -> None:
    async def script(call: Call) -> None:
        await call.write(b"SSH-2.0-OpenSSH_9.6\r\n")

    record, _ = ask(script)
    assert (record["status"], record["error_kind"]) == ("error", "connect")
    assert "not HTTP" in record["error_message"]
