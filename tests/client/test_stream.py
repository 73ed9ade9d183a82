import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scripted import DONE, HEAD, Call, answer, delta, event, serve, text, usage

from labkit.client.exchange import Exchange
from labkit.client.record import describe
from labkit.client.stream import (
    Target,
    build_body,
    is_loopback,
    make_client,
    make_redact,
    send,
)
from labkit.workload import Request

NAMES = """request_id task_id step intended_at_s released_at_s sent_at_s headers_at_s
first_token_at_s last_token_at_s finished_at_s
chunk_at_s prefill_s prompt_tokens completion_tokens cached_tokens tokens_source
finish_reason status error_kind error_message http_status"""
FIELDS = NAMES.split()


def ask(
    script: Callable[[Call], Awaitable[None]] | None,
    *,
    url: str | None = None,
    endpoint: str = "completions",
    timeout_s: float = 5.0,
    api_key: str | None = None,
    wait_s: float = 0.0,
) -> tuple[dict[str, Any], Call | None]:
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
    async def script(call: Call) -> None:
        await call.stream(*pieces, gap_s=gap_s)

    return script


def test_a_good_answer_is_a_whole_record() -> None:
    record, call = ask(answer)
    assert call is not None
    assert list(record) == FIELDS
    assert record["status"] == "ok"
    assert record["error_kind"] is record["error_message"] is None
    assert record["http_status"] == 200
    assert record["finish_reason"] == "length"
    assert len(record["chunk_at_s"]) == 4
    assert (record["prompt_tokens"], record["completion_tokens"]) == (3, 4)
    assert (record["cached_tokens"], record["tokens_source"]) == (0, "usage")
    stamps = ("intended", "released", "sent", "headers", "first_token", "last_token", "finished")
    ordered = [record[f"{name}_at_s"] for name in stamps]
    assert ordered == sorted(ordered)


def test_what_is_sent() -> None:
    _, call = ask(answer)
    assert call is not None
    assert call.path == "/v1/completions"
    assert call.body == {
        "model": "m",
        "prompt": "time people year",
        "max_tokens": 4,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    }
    assert call.headers["accept-encoding"] == "identity"


def test_stamps_are_those_of_the_server() -> None:
    record, call = ask(streaming(text("a"), text("b", "stop"), DONE, gap_s=0.05))
    assert call is not None
    head, first, second, _ = call.sent_at_s
    assert 0 <= record["first_token_at_s"] - first < 0.03
    assert 0 <= record["last_token_at_s"] - second < 0.03
    assert 0 <= record["headers_at_s"] - head < 0.03
    assert record["sent_at_s"] <= head
    assert record["chunk_at_s"] == [record["first_token_at_s"], record["last_token_at_s"]]


def test_neither_role_nor_comment_is_a_token() -> None:
    pieces = (
        delta({"role": "assistant", "content": ""}),
        b": keep-alive\n\n",
        delta({"content": "a"}),
        delta({}, "stop"),
    )
    record, call = ask(streaming(*pieces, gap_s=0.03), endpoint="chat")
    assert call is not None
    assert call.path == "/v1/chat/completions"
    assert call.body["messages"] == [{"role": "user", "content": "time people year"}]
    assert record["first_token_at_s"] >= call.sent_at_s[3]
    assert record["status"] == "ok"


@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"reasoning_content": "a"}, id="reasoning_content"),
        pytest.param({"reasoning": "a"}, id="reasoning"),
        pytest.param({"tool_calls": [{"function": {"arguments": "{"}}]}, id="tool"),
    ],
)
def test_reasoning_and_tool_deltas_are_tokens(first: dict[str, Any]) -> None:
    record, _ = ask(streaming(delta(first), delta({"content": "b"}, "stop")), endpoint="chat")
    assert (record["status"], len(record["chunk_at_s"])) == ("ok", 2)


def test_usage_counts_wherever_it_stands_and_chunks_without_it() -> None:
    last = {"choices": [{"text": "b", "finish_reason": "stop"}]}
    counted = last | {"usage": {"prompt_tokens": 3, "completion_tokens": 9}}
    record, _ = ask(streaming(text("a"), event(counted), DONE))
    assert (record["completion_tokens"], record["tokens_source"]) == (9, "usage")
    assert record["cached_tokens"] is None
    record, _ = ask(streaming(text("a"), event(last), DONE))
    assert (record["completion_tokens"], record["tokens_source"]) == (2, "chunks")
    assert record["prompt_tokens"] is None


def test_cached_tokens_are_read() -> None:
    record, _ = ask(streaming(text("a", "stop"), usage(8, 1, cached_tokens=6), DONE))
    assert record["cached_tokens"] == 6


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


def test_a_proxy_does_not_stand_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask(answer)[0]["status"] == "ok"


def test_which_hosts_are_this_machine() -> None:
    here = ["http://localhost:1/v1", "http://127.0.0.2", "http://[::1]:8000", "http://0.0.0.0:1"]
    assert all(is_loopback(url) for url in here)
    assert not any(is_loopback(url) for url in ["http://127.example.com", "https://10.0.0.1", ""])


def test_a_request_is_built_and_connected_before_it_is_due() -> None:
    record, call = ask(answer, wait_s=0.3)
    assert call is not None
    assert record["released_at_s"] == pytest.approx(record["intended_at_s"] + 0.3, abs=1e-5)
    assert 0 <= record["sent_at_s"] - record["released_at_s"] < 0.02
    assert call.sent_at_s[0] >= record["sent_at_s"]


def test_a_format_is_sent_and_then_nothing_fixes_the_length() -> None:
    target = Target("http://127.0.0.1/v1", "m", "chat", 0.0, {"ignore_eos": True}, 1.0)
    wanted = {"type": "json_object"}
    request = Request("r", (("user", "a"),), 4, 1, response_format=wanted)
    body = build_body(target, request, request.messages)
    assert body["response_format"] == wanted
    assert "ignore_eos" not in body


def test_completions_take_the_contents_joined_by_a_blank() -> None:
    target = Target("http://127.0.0.1/v1", "m", "completions", 0.0, {}, 1.0)
    request = Request("r", (("system", "a b"), ("user", "c")), 4, 3)
    assert build_body(target, request, request.messages)["prompt"] == "a b c"


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


def test_a_proxy_of_the_environment_is_used_for_other_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serve(answer) as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        record, _ = ask(None, url="http://engine.example/v1", wait_s=0.05)
        (call,) = server.calls
    assert call.path == "http://engine.example/v1/completions"
    assert (record["status"], len(record["chunk_at_s"])) == ("ok", 4)
    assert 0 <= record["sent_at_s"] - record["released_at_s"] < 0.05
    assert record["headers_at_s"] <= record["first_token_at_s"]
