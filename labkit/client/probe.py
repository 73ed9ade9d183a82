"""One short question to an endpoint, sent as it is and once: what it serves, and its answer.

It must not judge what came back, but for a server that can't be reached.
"""

import json
import time
from collections.abc import Callable
from typing import Any, Never
from urllib.parse import urlsplit

import httpx2
import openai

from labkit.client.proxied import find_proxy
from labkit.client.reply import Reply, fail
from labkit.client.stream import NO_KEY, is_loopback
from labkit.client.tls import explain, find_tls_error, make_context

Redact = Callable[[str], str]
ROUTES = {"completions": "completions", "chat": "chat/completions"}


def make_prober(base_url: str, api_key: str | None, timeout_s: float) -> openai.OpenAI:
    """Return a client that tries once, and goes through the proxy of the environment if any."""
    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key or NO_KEY,
        max_retries=0,
        http_client=httpx2.Client(
            trust_env=False,
            verify=make_context() if urlsplit(base_url).scheme == "https" else True,
            proxy=None if is_loopback(base_url) else find_proxy(base_url),
            timeout=timeout_s,
            limits=httpx2.Limits(max_keepalive_connections=0),  # as the load does
        ),
    )


def list_models(client: openai.OpenAI) -> list[str]:
    """Return the names of the models that it serves, none where it does not list them."""
    try:
        response = client.get("/models", cast_to=httpx2.Response)
        rows = response.json()["data"]
        return [str(row["id"]) for row in rows]
    except (openai.APIError, httpx2.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        return []


def post(
    client: openai.OpenAI, base_url: str, endpoint: str, body: dict[str, Any], redact: Redact
) -> Reply:
    """Return the answer without the key in it, should it echo that: later it may be cut short.

    Raises EndpointError if no answer comes.
    """

    def send() -> httpx2.Response:
        return client.post(f"/{ROUTES[endpoint]}", cast_to=httpx2.Response, body=body)

    return _exchange(send, base_url, redact)


def get(client: openai.OpenAI, base_url: str, path: str, redact: Redact) -> Reply:
    """Return what a page below the base URL holds, such as /models, as `post` does."""
    return _exchange(lambda: client.get(path, cast_to=httpx2.Response), base_url, redact)


def _exchange(send: Callable[[], httpx2.Response], base_url: str, redact: Redact) -> Reply:
    begun_s = time.monotonic()
    try:
        response = send()
    except openai.APITimeoutError:
        fail(f"an answer of {base_url}", "none in time", "see whether it is loading or stuck")
    except openai.APIConnectionError as error:
        _fail_connect(base_url, error)
    except openai.APIStatusError as error:
        response = error.response
    latency_s = time.monotonic() - begun_s
    text = redact(response.text)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if location := response.headers.get("location", ""):
        text = redact(f"moved to {location}")
    scheme = redact(response.headers.get("www-authenticate", "")).partition(" ")[0]
    retry_after = redact(response.headers.get("retry-after", ""))
    return Reply(response.status_code, text, parsed, latency_s, scheme, retry_after)


def _fail_connect(base_url: str, error: openai.APIConnectionError) -> Never:
    if tls_error := find_tls_error(error):
        found, _, todo = explain(tls_error).partition("; ")
        fail(f"a server at {base_url}", found, todo)
    cause = error.__cause__ or error
    todo = "check that it is running, and host and port"
    if isinstance(cause, httpx2.RemoteProtocolError) and base_url.startswith("http://"):
        todo += ", and whether it wants https://"
    if not is_loopback(base_url) and find_proxy(base_url):
        todo += "; a proxy of the environment is used, NO_PROXY may be needed"
    fail(f"a server at {base_url}", f"{type(cause).__name__}: {cause}", todo)
