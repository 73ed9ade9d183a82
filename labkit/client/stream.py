"""One request through the openai client: built, sent when due, and its answer kept as bytes.

The openai client brings the base URL, the key and the words for a refusal; its typed answers are
left aside, since parsing must not stand between the socket and a stamp. Nothing is retried: a
retry would hide a failure inside a latency. It must not know how many requests there are, when
each is due, or what an answer means.
"""

import asyncio
import ipaddress
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from labkit.address import make_redact as make_redact
from labkit.client.exchange import Exchange, current
from labkit.client.proxied import Proxied, find_proxy
from labkit.client.tls import explain, find_tls_error, make_context
from labkit.client.wire import Wire
from labkit.workload import Request

NO_KEY = "none"
ROUTES = {"completions": "/completions", "chat": "/chat/completions"}
Messages = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Target:
    """Whom every request of a load goes to, and what all of them ask for."""

    base_url: str
    model: str
    endpoint: str
    temperature: float
    extra_body: Mapping[str, Any]
    """Fields that make a completion exactly max_tokens long."""
    timeout_s: float


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
    proxy = None if is_loopback(base_url) else find_proxy(base_url)
    tls = make_context() if urlsplit(base_url).scheme == "https" else None
    transport = Proxied(proxy, tls) if proxy else Wire(tls)
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or NO_KEY,
        max_retries=0,
        timeout=None,
        http_client=httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False),
    )


async def send(
    client: openai.AsyncOpenAI,
    target: Target,
    request: Request,
    messages: Messages,
    exchange: Exchange,
) -> Exchange:
    """Send one request at `exchange.released_at_s` and return the exchange with all that came.

    A failure is in it, never raised. The deadline is `target.timeout_s` after the release.
    """
    current.set(exchange)
    body = build_body(target, request, messages)
    try:
        async with asyncio.timeout_at(exchange.released_at_s + target.timeout_s):
            await client.post(ROUTES[target.endpoint], cast_to=httpx2.Response, body=body)
    except TimeoutError:
        stage = "any answer came" if exchange.sent_at_s else "it could be sent"
        stage = "its end came" if exchange.headers_at_s else stage
        exchange.fault = ("timeout", f"{target.timeout_s:g} s passed before {stage}")
    except openai.APIStatusError as error:
        exchange.fault = ("http_status", error.response.text or f"HTTP {error.status_code}")
    except ValueError as error:  # half a surrogate pair in a prompt, for one
        exchange.fault = ("unsendable", _tell(error))
    except (openai.APIError, httpx2.HTTPError, OSError) as error:
        kind = "connect" if exchange.headers_at_s is None else "truncated"
        tls_error = find_tls_error(error) if kind == "connect" else None
        exchange.fault = ("tls", explain(tls_error)) if tls_error else (kind, _tell(error))
    exchange.finished_at_s = time.monotonic()
    return exchange


def build_body(target: Target, request: Request, messages: Messages) -> dict[str, Any]:
    """Return the JSON body: `messages` as chat has them, or their contents joined by a blank.

    `target.extra_body` fixes the length, so it is left out where a format decides it.
    """
    body: dict[str, Any] = {
        "model": target.model,
        "max_tokens": request.max_tokens,
        "temperature": target.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if target.endpoint == "chat":
        body["messages"] = [{"role": role, "content": content} for role, content in messages]
    else:
        body["prompt"] = " ".join(content for _, content in messages)
    if request.response_format is not None:
        # a grammar decides the length, and an engine that is told to ignore it as well may fail
        return body | {"response_format": request.response_format}
    return body | dict(target.extra_body)


def _tell(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause or error}"
