"""What an endpoint's answer to one short question means: text, or a fault in one line.

It must not know how anything is sent, nor which form of a URL is tried next.
"""

from dataclasses import dataclass
from typing import Any, Never

from labkit.client.answer import read_count, read_error
from labkit.client.refusal import advise_wait
from labkit.errors import EndpointError

MAX_SAID_CHARS = 300


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, whatever its status; the key is in none of it."""

    status: int
    text: str
    body: Any
    """The JSON of it, None for what is none."""
    latency_s: float
    scheme: str
    """Of authentication, as the answer names it; may be empty."""
    retry_after: str = ""
    """The header as it came, seconds or a date (RFC 9110, 10.2.3); may be empty."""


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


class Fault(EndpointError):
    """What is wrong with an endpoint, its parts kept beside the one line that tells all of it."""

    def __init__(self, expected: str, found: str, todo: str) -> None:
        super().__init__(f"expected {expected}, found {found}; {todo}")
        self.found = found
        self.todo = todo


class NoRoute(Exception):
    """The URL leads nowhere; another form of it may."""

    def __init__(self, found: str, *, is_page: bool = False) -> None:
        super().__init__(found)
        self.is_page = is_page


class Refused(Exception):
    """The key is not accepted."""

    def __init__(self, text: str, said: str, scheme: str) -> None:
        super().__init__(text)
        self.said = said
        self.scheme = scheme


def check_page(reply: Reply) -> None:
    """Raise NoRoute for HTML, but where a proxy tells in it that the server failed or refused."""
    is_page = reply.text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))
    if is_page and reply.status not in (401, 403, 429, 500, 502, 503, 504):
        raise NoRoute(f"a web page (HTTP {reply.status})", is_page=True)


def check_status(reply: Reply, base_url: str, model: str, served: list[str]) -> None:
    """Raise for a status that is not 2xx: NoRoute, Refused, else EndpointError in one line."""
    check_page(reply)
    said = quote(reply)
    found = f"HTTP {reply.status}" + (f" ({said})" if said else "")
    if 200 <= reply.status < 300:
        return
    if reply.status in (401, 403):
        text = f"expected {base_url} to accept the API key, found {found}"
        raise Refused(text, said, reply.scheme)
    words = said.lower()
    unknown = model and model not in served and "model" in words and "chat" not in words
    if reply.status in (400, 404, 422) and unknown:
        fail_model(model, served, said)
    if reply.status in (404, 405) or (reply.status == 400 and "completions" in words):
        raise NoRoute(" ".join(found.split()))
    if reply.status == 429 or reply.retry_after:
        fail(f"{base_url} to answer", found, advise_wait(reply.retry_after))
    todo = "use the address it names" if reply.status < 400 else "see its log"
    fail(f"{base_url} to answer", found, todo)


def read_reply(reply: Reply, base_url: str, model: str, endpoint: str) -> Verified:
    """Return what an answer of status 2xx holds; raises EndpointError for one without choices."""
    body = reply.body
    if not isinstance(body, dict):
        fail(f"JSON from {base_url}", quote(reply) or "an empty body", "check host, port and path")
    if body.get("error"):
        fail(f"{base_url} to answer", f"an error in HTTP 200 ({quote(reply)})", "see its log")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        keys = ", ".join(map(str, body)) or "none"
        fail(f"choices in the answer of {base_url}", f"keys {keys}", "check that it speaks OpenAI")
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


def quote(reply: Reply) -> str:
    """Return what an answer says, or the text of the error in it, cut to 300 characters."""
    body = reply.body
    if isinstance(body, dict) and (body.get("error") or body.get("message") or body.get("detail")):
        return read_error(body.get("error") or body)[:MAX_SAID_CHARS]
    return reply.text.strip()[:MAX_SAID_CHARS]


def fail_model(model: str, served: list[str], said: str = "") -> Never:
    """Raise EndpointError for a model that is not served, the served ones or what it said told."""
    names = ", ".join(served[:10]) + (", ..." if len(served) > 10 else "")
    found = f"that it serves {names}" if names else said
    fail(f"the endpoint to serve {model!r}", found, "name a model that it serves")


def fail(expected: str, found: str, todo: str) -> Never:
    """Raise EndpointError of the one form that all faults have."""
    raise Fault(expected, found, todo)
