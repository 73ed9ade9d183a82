"""The lowest steps: is there a host, a port, HTTP, and which form of the base URL leads to an API?

It opens connections and gets pages. It must not know models, nor what is asked for later.
"""

import socket
from urllib.parse import urlsplit

from labkit.address import check_proxy, explain_form, list_forms
from labkit.client.probe import ROUTES, Redact, get, make_prober, post
from labkit.client.proxied import find_proxy
from labkit.client.reply import Fault, NoRoute, Reply, check_page, quote
from labkit.client.stream import is_loopback
from labkit.errors import ParamsError
from labkit.ladder.verdict import Judged

CONNECT_TIMEOUT_S = 10.0
PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def reach(url: str) -> Judged:
    """Look the name up and connect to its port, or to the proxy that stands before it."""
    via = None
    if not is_loopback(url):
        try:
            check_proxy(url)
        except ParamsError as error:
            found, _, todo = str(error).partition(", found ")[2].partition("; ")
            return Judged("fails", found, "the environment names a proxy that can't be one", todo)
        via = find_proxy(url)
    parts = urlsplit(via or url)
    host, port = str(parts.hostname), parts.port or PORTS.get(parts.scheme, 80)
    through = " of the proxy that the environment names" if via else ""
    unset = "; unset the proxy, or name the endpoint's host in NO_PROXY" if via else ""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Judged(
            "fails",
            f"no address for {host}{through} ({getattr(error, 'strerror', None) or error})",
            "the name can't be looked up from here",
            f"check how it is spelt, and that the network and its DNS work{unset}",
        )
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except ConnectionRefusedError:
        return Judged(
            "fails",
            f"connection refused at {host} port {port}{through}",
            "the machine is there, but nothing listens on this port",
            f"start the server, or correct host and port of the base URL{unset}",
        )
    except OSError as error:
        told = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or error
        return Judged(
            "fails",
            f"{told} at {host} port {port}{through}",
            "the machine can't be reached, or a firewall drops what is sent to this port",
            f"check the network, VPN and firewall, host and port{unset}",
        )
    return Judged("works", f"{places[0][4][0]} port {port} answers{through}")


def speak(url: str, api_key: str | None, timeout_s: float, redact: Redact) -> tuple[Judged, Reply]:
    """Get a page and return that HTTP came back, whatever it says; raises Fault if none did."""
    form = list_forms(url)[0]
    with make_prober(form, api_key, timeout_s) as client:
        reply = get(client, form, "/models", redact)
    via = None if is_loopback(url) else find_proxy(url)
    if reply.status == 407 or (via and reply.status in (502, 503, 504)):
        judged = Judged(
            "fails",
            f"HTTP {reply.status} ({quote(reply)})",
            "the proxy of the environment answers, not the endpoint",
            "unset the proxy, name the endpoint's host in NO_PROXY, or give the proxy its user",
        )
        return judged, reply
    return Judged("works", f"HTTP {reply.status}"), reply


def find_form(
    url: str, api_key: str | None, timeout_s: float, redact: Redact
) -> tuple[Judged, str | None]:
    """Return which form of the base URL leads to an OpenAI API, None if none does.

    One that lists models is taken before one that asks for a key, and that before one that takes
    requests without listing models.
    """
    forms = list_forms(url)
    told: list[str] = []
    guarded: list[str] = []
    for form in forms:
        reply = _get(form, api_key, timeout_s, redact)
        if isinstance(reply, Reply) and is_listing(reply):
            return _take(url, form), form
        if isinstance(reply, Reply) and reply.status in (401, 403):
            guarded.append(form)
        told.append(f"{form}/models: {tell(reply)}")
    for form in guarded or forms:
        if form in guarded or _takes_requests(form, api_key, timeout_s, redact):
            return _take(url, form), form
    judged = Judged(
        "fails",
        "; ".join(told),
        "something answers, but no OpenAI API at this path: /v1 is missing or there twice, or the "
        "path is that of a web page",
        "give the base URL as its maker writes it, such as http://HOST:PORT/v1, without "
        "/chat/completions and without a slash at its end",
    )
    return judged, None


def is_listing(reply: Reply) -> bool:
    """Return whether an answer is a list of models."""
    rows = reply.body.get("data") if isinstance(reply.body, dict) else None
    return reply.status == 200 and isinstance(rows, list)


def tell(reply: Reply | Fault) -> str:
    """Return in a few words what came of a page."""
    if isinstance(reply, Fault):
        return reply.found
    try:
        check_page(reply)
    except NoRoute as page:
        return str(page)
    said = quote(reply)[:80]
    return f"HTTP {reply.status}" + (f" ({said})" if said else "")


def _take(asked: str, form: str) -> Judged:
    how = explain_form(asked, form)
    if how == "as it was given":
        return Judged("works", f"{form}, {how}")
    return Judged(
        "works",
        f"{form}, {how}",
        "another form of the base URL answers than the one that was given",
        f"write {form}: other programs may not look for it",
    )


def _get(form: str, api_key: str | None, timeout_s: float, redact: Redact) -> Reply | Fault:
    with make_prober(form, api_key, timeout_s) as client:
        try:
            return get(client, form, "/models", redact)
        except Fault as fault:
            return fault


def _takes_requests(form: str, api_key: str | None, timeout_s: float, redact: Redact) -> bool:
    """Return whether a route for requests is there: an empty body is refused, but not by 404."""
    with make_prober(form, api_key, timeout_s) as client:
        for route in ROUTES:
            try:
                reply = post(client, form, route, {}, redact)
                check_page(reply)
            except (Fault, NoRoute):
                continue
            if reply.status not in (404, 405, 501):
                return True
    return False
