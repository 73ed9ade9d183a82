"""From one exchange to one record of requests.jsonl, long after its bytes were stamped.

It must not know sockets, clients, or how a latency is derived.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from labkit.client.answer import Answer, read_body, read_count
from labkit.client.exchange import Exchange
from labkit.client.sse import read_events

MAX_MESSAGE_CHARS = 2000
EVENTS_AT_ONCE = 32


async def describe(exchange: Exchange, redact: Callable[[str], str]) -> tuple[dict[str, Any], str]:
    """Return the record of one exchange, as requests.jsonl holds it, and the text that came.

    It yields to the event loop between groups of events, so that a long answer cannot delay the
    stamps of others. `redact` is applied to every text of the other side that is recorded.
    """
    answer = Answer(redact)
    for count, event in enumerate(read_events(exchange.pieces)):
        answer.take(event)
        if count % EVENTS_AT_ONCE == EVENTS_AT_ONCE - 1:
            await asyncio.sleep(0)
    fault = exchange.fault
    if fault is None or (fault[0] == "truncated" and (answer.fault or answer.done)):
        fault = answer.find_fault()
    if fault and fault[0] == "bad_body":
        fault = read_body(b"".join(piece for _, piece in exchange.pieces), redact)
    completion_tokens = read_count(answer.usage, "completion_tokens")
    source = "usage" if completion_tokens is not None else None
    if completion_tokens is None and answer.chunk_at_s:
        completion_tokens, source = len(answer.chunk_at_s), "chunks"
    chunk_at_s = [round(stamp, 6) for stamp in answer.chunk_at_s]
    record = {
        "request_id": exchange.request_id,
        "task_id": exchange.task_id,
        "step": exchange.step,
        "intended_at_s": _round(exchange.intended_at_s),
        "released_at_s": _round(exchange.released_at_s),
        "sent_at_s": _round(exchange.sent_at_s),
        "headers_at_s": _round(exchange.headers_at_s),
        "first_token_at_s": chunk_at_s[0] if chunk_at_s else None,
        "last_token_at_s": chunk_at_s[-1] if chunk_at_s else None,
        "finished_at_s": _round(exchange.finished_at_s),
        "chunk_at_s": chunk_at_s,
        "prefill_s": _round(answer.prefill_s),
        "prompt_tokens": read_count(answer.usage, "prompt_tokens"),
        "completion_tokens": completion_tokens,
        "cached_tokens": read_count(answer.usage, "prompt_tokens_details", "cached_tokens"),
        "tokens_source": source,
        "finish_reason": answer.finish_reason and redact(answer.finish_reason)[:40],
        "is_json": is_json(answer.text) if exchange.wants_json and not fault else None,
        "status": "error" if fault else "ok",
        "error_kind": fault[0] if fault else None,
        "error_message": redact(fault[1])[:MAX_MESSAGE_CHARS] if fault else None,
        "http_status": exchange.http_status,
    }
    return record, answer.text


def is_json(text: str) -> bool:
    """Return whether a text is one JSON value and nothing else."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _round(stamp_s: float | None) -> float | None:
    """Keep microseconds: finer than any clock tick that matters, and half the bytes."""
    return None if stamp_s is None else round(stamp_s, 6)
