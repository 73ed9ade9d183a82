"""Records of what went wrong: quoted, short, and without a part of the key."""

import asyncio
import json
from typing import Any

import pytest

from labkit.address import make_redact
from labkit.client.answer import MAX_BODY_CHARS, MAX_EVENT_CHARS
from labkit.client.exchange import Exchange
from labkit.client.record import describe
from labkit.client.workers import MAX_TAIL_CHARS, Worker

KEY = "sk-Qw3rTy" * 4
CUT = range(0, len(KEY) + 1, 3)
"""How much of the key stands before the cut: none, a part, all."""


def record(body: bytes) -> dict[str, Any]:
    exchange = Exchange("r", 0.0, 0.0, pieces=[(1.0, body)])
    return asyncio.run(describe(exchange, make_redact(KEY)))[0]


def holds_part(text: str) -> bool:
    """Return whether four characters of the key that follow each other are in a text."""
    return any(KEY[place : place + 4] in text for place in range(len(KEY) - 3))


@pytest.mark.parametrize("before", CUT)
def test_a_body_is_cut_after_the_key_is_out(before: int) -> None:
    told = record(("x" * (MAX_BODY_CHARS - before) + KEY + "y" * 50).encode())
    assert told["error_kind"] == "bad_body"
    quoted = ("x" * (MAX_BODY_CHARS - before) + "[redacted]" + "y" * 50)[:MAX_BODY_CHARS]
    assert told["error_message"].endswith(f"found {quoted!r}")
    assert not holds_part(told["error_message"])


@pytest.mark.parametrize("before", CUT)
@pytest.mark.parametrize("opening", ["{", '"'], ids=["no JSON", "no object"])
def test_an_event_is_cut_after_the_key_is_out(opening: str, before: int) -> None:
    data = opening + "x" * (MAX_EVENT_CHARS - 1 - before) + KEY + "y" * 50 + '"'
    told = record(f"data: {data}\n\n".encode())
    assert told["error_kind"] == "malformed"
    assert told["error_message"].endswith(f"found {data.replace(KEY, '[redacted]')[:200]!r}")
    assert not holds_part(told["error_message"])


def test_last_words_are_cut_after_the_key_is_out() -> None:
    worker = Worker()
    try:
        for before in CUT:
            words = "x" * 50 + KEY + "y" * (MAX_TAIL_CHARS - len(KEY) + before)
            worker.stderr.seek(0)
            worker.stderr.truncate()
            worker.stderr.write(words.encode())
            told = worker.last_words(make_redact(KEY))
            assert told == words.replace(KEY, "[redacted]")[-MAX_TAIL_CHARS:]
            assert not holds_part(told)
    finally:
        worker.stop()


def test_a_long_message_is_cut_after_the_key_is_out() -> None:
    told = record(f'{{"error": "{"x" * 1990}{KEY}"}}'.encode())
    assert told["error_kind"] == "stream_error"
    assert told["error_message"] == "x" * 1990 + "[redacted]"


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"a": 1}', True), (' [1, 2]\n', True), ('{"a": 1', False), ("Sure: {}", False)],
)  # fmt: skip
def test_an_answer_that_had_to_be_json_is_judged(text: str, found: bool) -> None:
    event = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    exchange = Exchange("r", 0.0, 0.0, pieces=[(1.0, body)], wants_json=True)
    assert asyncio.run(describe(exchange, make_redact("")))[0]["is_json"] is found
    assert record(body)["is_json"] is None
