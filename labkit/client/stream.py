"""One request: sent, stamped, and turned into one record.

Bytes are stamped as they arrive and parsed only after the stream has ended, so that parsing cannot
delay a stamp. Each request opens a connection of its own: an engine may drop a kept-alive
connection under load (llama.cpp does), and a request sent on a stale one dies without being the
engine's fault. `sent_at_s` is read when the request's first bytes are handed to the socket, so
setting up the connection is in no latency. Nothing is retried: a retry would hide a failure
inside a latency. It must not know how many requests there are or when each is due.
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from labkit.client.answer import Answer, read_body, read_count
from labkit.client.sse import read_events
from labkit.workload import Request

MAX_MESSAGE_CHARS = 2000
NO_KEY = "none"


@dataclass(slots=True)
class Exchange:
    """What went over the wire for one request: stamps in monotonic seconds, bytes untouched."""

    request_id: str
    intended_at_s: float
    sent_at_s: float | None = None
    headers_at_s: float | None = None
    finished_at_s: float | None = None
    http_status: int | None = None
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    fault: tuple[str, str] | None = None
    """(error_kind, message) where the transport already knows that it went wrong."""


_current: ContextVar[Exchange] = ContextVar("exchange")


def is_loopback(url: str) -> bool:
    """Return whether a URL names this machine, which no proxy should stand before."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def make_client(base_url: str, api_key: str | None) -> openai.AsyncOpenAI:
    """Return a client that neither retries, nor limits, nor reuses connections."""
    transport = httpx2.AsyncClient(
        timeout=None,
        trust_env=not is_loopback(base_url),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        event_hooks={"request": [_stamp_sending]},
    )
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or NO_KEY,
        max_retries=0,
        timeout=None,
        default_headers={"Accept-Encoding": "identity"},
        http_client=transport,
    )


async def send(
    client: openai.AsyncOpenAI,
    request: Request,
    *,
    model: str,
    endpoint: str,
    temperature: float,
    extra_body: Mapping[str, Any],
    timeout_s: float,
    intended_at_s: float,
) -> Exchange:
    """Send one request and return all that came back; a failure is in it, never raised."""
    exchange = Exchange(request.request_id, intended_at_s)
    _current.set(exchange)
    exchange.sent_at_s = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            await _exchange(client, request, exchange, model, endpoint, temperature, extra_body)
    except TimeoutError:
        stage = "its end" if exchange.headers_at_s else "any answer"
        exchange.fault = ("timeout", f"{timeout_s:g} s passed before {stage} came")
    except openai.APIStatusError as error:
        exchange.headers_at_s = exchange.headers_at_s or time.monotonic()
        exchange.http_status = error.status_code
        exchange.fault = ("http_status", error.response.text or f"HTTP {error.status_code}")
    except (openai.APIError, httpx2.HTTPError, OSError) as error:
        kind = "connect" if exchange.headers_at_s is None else "truncated"
        exchange.fault = (kind, _tell(error))
    exchange.finished_at_s = time.monotonic()
    return exchange


async def _exchange(
    client: openai.AsyncOpenAI,
    request: Request,
    exchange: Exchange,
    model: str,
    endpoint: str,
    temperature: float,
    extra_body: Mapping[str, Any],
) -> None:
    common: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "temperature": temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
        "extra_body": dict(extra_body),
    }
    if endpoint == "chat":
        messages: Any = [{"role": "user", "content": request.prompt}]
        opened = client.chat.completions.with_streaming_response.create(messages=messages, **common)
    else:
        opened = client.completions.with_streaming_response.create(prompt=request.prompt, **common)
    async with opened as response:
        exchange.http_status = response.status_code
        pieces = exchange.pieces
        async for piece in response.http_response.aiter_raw():
            pieces.append((time.monotonic(), piece))


async def _stamp_sending(request: httpx2.Request) -> None:
    exchange = _current.get()

    async def trace(name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("send_request_headers.started"):
            exchange.sent_at_s = time.monotonic()
        elif name.endswith("receive_response_headers.complete"):
            exchange.headers_at_s = time.monotonic()

    request.extensions["trace"] = trace


async def describe(exchange: Exchange, redact: Callable[[str], str]) -> dict[str, Any]:
    """Return the record of one exchange, as requests.jsonl holds it.

    It yields to the event loop between groups of events, so that a long answer cannot delay the
    stamps of others. `redact` is applied to every text that the other side wrote.
    """
    answer = Answer()
    for count, event in enumerate(read_events(exchange.pieces)):
        answer.take(event)
        if count % 32 == 31:
            await asyncio.sleep(0)
    fault = exchange.fault
    if fault is None or (fault[0] == "truncated" and (answer.fault or answer.done)):
        fault = answer.find_fault()
    if fault and fault[0] == "bad_body":
        fault = read_body(b"".join(piece for _, piece in exchange.pieces))
    completion_tokens = read_count(answer.usage, "completion_tokens")
    source = "usage" if completion_tokens is not None else None
    if completion_tokens is None and answer.chunk_at_s:
        completion_tokens, source = len(answer.chunk_at_s), "chunks"
    return {
        "request_id": exchange.request_id,
        "intended_at_s": exchange.intended_at_s,
        "sent_at_s": exchange.sent_at_s,
        "headers_at_s": exchange.headers_at_s,
        "first_token_at_s": answer.chunk_at_s[0] if answer.chunk_at_s else None,
        "last_token_at_s": answer.chunk_at_s[-1] if answer.chunk_at_s else None,
        "finished_at_s": exchange.finished_at_s,
        "chunk_at_s": answer.chunk_at_s,
        "prompt_tokens": read_count(answer.usage, "prompt_tokens"),
        "completion_tokens": completion_tokens,
        "cached_tokens": read_count(answer.usage, "prompt_tokens_details", "cached_tokens"),
        "tokens_source": source,
        "finish_reason": answer.finish_reason and redact(answer.finish_reason)[:40],
        "status": "error" if fault else "ok",
        "error_kind": fault[0] if fault else None,
        "error_message": redact(fault[1])[:MAX_MESSAGE_CHARS] if fault else None,
        "http_status": exchange.http_status,
    }


def make_redact(api_key: str | None) -> Callable[[str], str]:
    """Return a function that takes an API key out of a text."""
    return lambda text: text.replace(api_key, "[redacted]") if api_key else text


def _tell(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause or error}"
