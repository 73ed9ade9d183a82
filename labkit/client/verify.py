"""Asks an endpoint one short question and says plainly what it is, or what is wrong with it.

It finds the form of the base URL that answers, with or without `/v1`, the served model, and
whether completions or only chat is offered. It must not know engines or loads.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never
from urllib.parse import urlsplit

import httpx2
import openai

from labkit.address import check_key, check_proxy, check_url, make_redact
from labkit.client.answer import read_count, read_error
from labkit.client.proxied import find_proxy
from labkit.client.refusal import advise
from labkit.client.stream import NO_KEY, is_loopback
from labkit.client.tls import explain, find_tls_error, make_context
from labkit.errors import EndpointError

MAX_SAID_CHARS = 300
PAGE = "a web page"
Redact = Callable[[str], str]
_ROUTES = {"completions": "completions", "chat": "chat/completions"}


@dataclass(frozen=True, slots=True)
class Verified:
    """An endpoint that answered; `base_url` and `endpoint` are the forms that did."""

    base_url: str
    model: str
    endpoint: str
    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_s: float


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    text: str
    body: Any
    latency_s: float
    scheme: str
    """Of authentication, as the answer names it; may be empty."""


class _NoRoute(Exception):
    """The URL leads nowhere; another form of it may."""


class _Refused(Exception):
    """The key is not accepted."""

    def __init__(self, text: str, said: str, scheme: str) -> None:
        super().__init__(text)
        self.said = said
        self.scheme = scheme


def verify_endpoint(
    base_url: str,
    *,
    model: str | None = None,
    api_key: str | None = None,
    key_place: str | None = None,
    endpoint: str = "completions",
    timeout_s: float = 30.0,
) -> Verified:
    """Ask for 8 tokens and return what came; the time is for the whole answer, not streamed.

    Without `model` the first served one is taken. Where completions does not exist, chat is
    tried. `key_place` says in words where the key is. Raises ParamsError for a URL, proxy or key
    that can't work, else EndpointError, with one line that names the fault and what to do.
    """
    if api_key:
        check_key(api_key)
    redact = make_redact(api_key)
    forms = list_forms(base_url)
    missed: list[str] = []
    try:
        for form in forms:
            for name in dict.fromkeys([endpoint, "chat"]):
                try:
                    return _ask(form, model, api_key, name, timeout_s)
                except _NoRoute as miss:
                    missed.append(str(miss))
    except _Refused as refused:
        where = key_place or ("api_key_env" if api_key else None)
        told = f"{refused}; {advise(refused.said, refused.scheme, where)}"
        raise EndpointError(redact(" ".join(told.split()))) from None
    except EndpointError as error:
        raise EndpointError(redact(" ".join(str(error).split()))) from None
    pages = [miss for miss in missed if PAGE in miss]
    wanted = "an OpenAI API" if pages else "completions or chat"
    found = redact((pages or missed)[0])
    _fail(f"{wanted} at {' or '.join(forms)}", found, "check host, port and path")


def list_forms(base_url: str) -> list[str]:
    """Return the base URLs that may be meant, likeliest first.

    Raises ParamsError for what is no URL, holds a secret, or would go through no real proxy.
    """
    check_url(base_url)
    if not is_loopback(base_url):
        check_proxy(base_url)
    url = base_url.rstrip("/")
    for route in ("/chat/completions", "/completions", "/models"):
        url = url.removesuffix(route)
    if url.endswith("/v1"):
        return [url, url.removesuffix("/v1")]
    return [url, f"{url}/v1"] if urlsplit(url).path else [f"{url}/v1", url]


def _ask(
    base_url: str, model: str | None, api_key: str | None, endpoint: str, timeout_s: float
) -> Verified:
    redact = make_redact(api_key)
    with openai.OpenAI(
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
    ) as client:
        served = _list_models(client)
        if model is None and not served:
            _check_route(client, base_url, endpoint, redact)
            _fail("a model name, as the endpoint lists none", "none given", "name the model")
        if model is not None and served and model not in served:
            _fail_model(model, served)
        name = model or served[0]
        body: dict[str, Any] = {"model": name, "max_tokens": 8, "temperature": 0.0}
        if endpoint == "chat":
            body["messages"] = [{"role": "user", "content": "Count to three."}]
        else:
            body["prompt"] = "One, two, three,"
        reply = _post(client, base_url, endpoint, body, redact)
    _check_status(reply, base_url, name, served)
    return _read(reply, base_url, name, endpoint)


def _list_models(client: openai.OpenAI) -> list[str]:
    try:
        response = client.get("/models", cast_to=httpx2.Response)
        rows = response.json()["data"]
        return [str(row["id"]) for row in rows]
    except (openai.APIError, httpx2.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _check_route(client: openai.OpenAI, base_url: str, endpoint: str, redact: Redact) -> None:
    """Say first what is wrong with the endpoint itself, if anything is."""
    reply = _post(client, base_url, endpoint, {}, redact)
    _check_page(reply)
    if reply.status in (301, 302, 307, 308, 401, 403, 404, 405) or reply.status >= 500:
        _check_status(reply, base_url, "", [])


def _post(
    client: openai.OpenAI, base_url: str, endpoint: str, body: dict[str, Any], redact: Redact
) -> _Reply:
    """Return the answer without the key in it, should it echo that: later it may be cut short."""
    begun_s = time.monotonic()
    try:
        response = client.post(f"/{_ROUTES[endpoint]}", cast_to=httpx2.Response, body=body)
    except openai.APITimeoutError:
        _fail(f"an answer of {base_url}", "none in time", "see whether it is loading or stuck")
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
    return _Reply(response.status_code, text, parsed, latency_s, scheme)


def _check_page(reply: _Reply) -> None:
    """Raise _NoRoute for HTML, but where a proxy tells in it that the server failed or refused."""
    is_page = reply.text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))
    if is_page and reply.status not in (401, 403, 429, 500, 502, 503, 504):
        raise _NoRoute(f"{PAGE} (HTTP {reply.status})")


def _check_status(reply: _Reply, base_url: str, model: str, served: list[str]) -> None:
    _check_page(reply)
    said = _quote(reply)
    found = f"HTTP {reply.status}" + (f" ({said})" if said else "")
    if 200 <= reply.status < 300:
        return
    if reply.status in (401, 403):
        text = f"expected {base_url} to accept the API key, found {found}"
        raise _Refused(text, said, reply.scheme)
    words = said.lower()
    unknown = model and model not in served and "model" in words and "chat" not in words
    if reply.status in (400, 404, 422) and unknown:
        _fail_model(model, served, said)
    if reply.status in (404, 405) or (reply.status == 400 and "completions" in words):
        raise _NoRoute(" ".join(found.split()))
    todo = "use the address it names" if reply.status < 400 else "see its log"
    _fail(f"{base_url} to answer", found, todo)


def _read(reply: _Reply, base_url: str, model: str, endpoint: str) -> Verified:
    body = reply.body
    if not isinstance(body, dict):
        _fail(
            f"JSON from {base_url}", _quote(reply) or "an empty body", "check host, port and path"
        )
    if body.get("error"):
        _fail(f"{base_url} to answer", f"an error in HTTP 200 ({_quote(reply)})", "see its log")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        keys = ", ".join(map(str, body)) or "none"
        _fail(f"choices in the answer of {base_url}", f"keys {keys}", "check that it speaks OpenAI")
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = choice.get("text") or message.get("content") or message.get("reasoning_content") or ""
    usage = body["usage"] if isinstance(body.get("usage"), dict) else {}
    return Verified(
        base_url=base_url,
        model=model,
        endpoint=endpoint,
        text=str(text),
        finish_reason=choice.get("finish_reason"),
        prompt_tokens=read_count(usage, "prompt_tokens"),
        completion_tokens=read_count(usage, "completion_tokens"),
        latency_s=reply.latency_s,
    )


def _quote(reply: _Reply) -> str:
    body = reply.body
    if isinstance(body, dict) and (body.get("error") or body.get("message") or body.get("detail")):
        return read_error(body.get("error") or body)[:MAX_SAID_CHARS]
    return reply.text.strip()[:MAX_SAID_CHARS]


def _fail(expected: str, found: str, todo: str) -> Never:
    raise EndpointError(f"expected {expected}, found {found}; {todo}")


def _fail_model(model: str, served: list[str], said: str = "") -> Never:
    names = ", ".join(served[:10]) + (", ..." if len(served) > 10 else "")
    found = f"that it serves {names}" if names else said
    _fail(f"the endpoint to serve {model!r}", found, "name a model that it serves")


def _fail_connect(base_url: str, error: openai.APIConnectionError) -> Never:
    if tls_error := find_tls_error(error):
        found, _, todo = explain(tls_error).partition("; ")
        _fail(f"a server at {base_url}", found, todo)
    cause = error.__cause__ or error
    todo = "check that it is running, and host and port"
    if isinstance(cause, httpx2.RemoteProtocolError) and base_url.startswith("http://"):
        todo += ", and whether it wants https://"
    if not is_loopback(base_url) and find_proxy(base_url):
        todo += "; a proxy of the environment is used, NO_PROXY may be needed"
    _fail(f"a server at {base_url}", f"{type(cause).__name__}: {cause}", todo)
