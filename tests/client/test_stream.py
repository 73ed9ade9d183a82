"""A good answer becomes a whole record, with the stamps and the tokens that the server sent."""

from typing import Any

import pytest
from client.asked import ask, streaming
from scripted import DONE, answer, delta, event, serve, text, usage

from labkit.client.stream import Target, build_body, is_loopback
from labkit.workload import Request

NAMES = """request_id task_id step intended_at_s released_at_s sent_at_s headers_at_s
first_token_at_s last_token_at_s finished_at_s
chunk_at_s prefill_s prompt_tokens completion_tokens cached_tokens tokens_source
finish_reason is_json status error_kind error_message http_status"""
FIELDS = NAMES.split()


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
