"""Asks an endpoint one short question and says plainly what it is, or what is wrong with it.

It finds the form of the base URL that answers, with or without `/v1`, the served model, and
whether completions or only chat is offered. It must not know engines or loads.
"""

from typing import Any

import openai

from labkit import address
from labkit.address import check_key, check_proxy, check_url, make_redact
from labkit.client.probe import Redact, list_models, make_prober, post
from labkit.client.refusal import advise
from labkit.client.reply import (
    NoRoute,
    Refused,
    Verified,
    check_page,
    check_status,
    fail,
    fail_model,
    read_reply,
)
from labkit.client.stream import is_loopback
from labkit.errors import EndpointError

__all__ = ["Verified", "list_forms", "verify_endpoint"]


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
    missed: list[NoRoute] = []
    try:
        for form in forms:
            for name in dict.fromkeys([endpoint, "chat"]):
                try:
                    return _ask(form, model, api_key, name, timeout_s)
                except NoRoute as miss:
                    missed.append(miss)
    except Refused as refused:
        where = key_place or ("api_key_env" if api_key else None)
        told = f"{refused}; {advise(refused.said, refused.scheme, where)}"
        raise EndpointError(redact(" ".join(told.split()))) from None
    except EndpointError as error:
        raise EndpointError(redact(" ".join(str(error).split()))) from None
    pages = [miss for miss in missed if miss.is_page]
    wanted = "an OpenAI API" if pages else "completions or chat"
    found = redact(str((pages or missed)[0]))
    fail(f"{wanted} at {' or '.join(forms)}", found, "check host, port and path")


def list_forms(base_url: str) -> list[str]:
    """Return the base URLs that may be meant, likeliest first.

    Raises ParamsError for what is no URL, holds a secret, or would go through no real proxy.
    """
    check_url(base_url)
    if not is_loopback(base_url):
        check_proxy(base_url)
    return address.list_forms(base_url)


def _ask(
    base_url: str, model: str | None, api_key: str | None, endpoint: str, timeout_s: float
) -> Verified:
    redact = make_redact(api_key)
    with make_prober(base_url, api_key, timeout_s) as client:
        served = list_models(client)
        if model is None and not served:
            _check_route(client, base_url, endpoint, redact)
            fail("a model name, as the endpoint lists none", "none given", "name the model")
        if model is not None and served and model not in served:
            fail_model(model, served)
        name = model or served[0]
        body: dict[str, Any] = {"model": name, "max_tokens": 8, "temperature": 0.0}
        if endpoint == "chat":
            body["messages"] = [{"role": "user", "content": "Count to three."}]
        else:
            body["prompt"] = "One, two, three,"
        reply = post(client, base_url, endpoint, body, redact)
    check_status(reply, base_url, name, served)
    return read_reply(reply, base_url, name, endpoint)


def _check_route(client: openai.OpenAI, base_url: str, endpoint: str, redact: Redact) -> None:
    """Say first what is wrong with the endpoint itself, if anything is."""
    reply = post(client, base_url, endpoint, {}, redact)
    check_page(reply)
    if reply.status in (301, 302, 307, 308, 401, 403, 404, 405) or reply.status >= 500:
        check_status(reply, base_url, "", [])
