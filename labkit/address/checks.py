"""Where an endpoint is and the key it wants: refused here if they can't work, before anything else.

What it refuses may hold a secret, so no message shows a key, a password or a query string. It must
not know where a key comes from, nor how anything is sent.
"""

import importlib.util
import ipaddress
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable

from labkit.errors import ParamsError

EXAMPLE = "http://127.0.0.1:8000/v1"
MAX_SHOWN_CHARS = 100
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


def check_url(url: str, *, name: str = "a URL") -> None:
    """Raise ParamsError for what is no address of a server, or holds more than an address."""
    fault = _find_secret(url) or _find_fault(url, schemes=("http", "https"))
    if fault:
        raise ParamsError(f"expected {name} such as {EXAMPLE}, found {fault}")


def check_proxy(url: str) -> None:
    """Raise ParamsError if the environment names a proxy for this URL that can't be one."""
    parts = urllib.parse.urlsplit(url)
    if urllib.request.proxy_bypass(parts.netloc):
        return
    proxies = urllib.request.getproxies()
    name = parts.scheme if proxies.get(parts.scheme) else "all"
    if not (proxy := proxies.get(name)):
        return
    scheme, mark, rest = proxy.partition("://")
    address = f"{scheme}{mark}{rest.rpartition('@')[2]}"  # a user and a password are all right here
    schemes = ["http", "https"]
    if importlib.util.find_spec("socksio") is not None:
        schemes += ["socks5", "socks5h"]
    if fault := _find_fault(address, schemes=tuple(schemes)):
        variable = f"{name.upper()}_PROXY"
        raise ParamsError(
            f"expected a proxy such as http://127.0.0.1:3128 in {variable}, found {fault}; "
            f"or name the endpoint's host in NO_PROXY"
        )


def check_key(key: str, *, where: str = "") -> None:
    """Raise ParamsError for a key that no HTTP header can carry; it is not shown."""
    if not key.isascii():
        fault = "characters outside ASCII"
    elif not key.rstrip("\r\n").isprintable():
        fault = "control characters"
    elif key != key.rstrip("\r\n"):
        fault = "a line break at its end, as a file with CRLF lines leaves it"
    elif key != key.strip():
        fault = "blanks around it"
    elif key.lower().startswith("bearer "):
        fault = "the word Bearer before it, which labkit puts there itself"
    else:
        return
    raise ParamsError(
        f"expected an API key of printable ASCII characters{where}, found {fault} (not shown); "
        f"set it again without"
    )


def make_redact(api_key: str | None) -> Callable[[str], str]:
    """Return a function that takes an API key out of a text, as it is, stripped, or as a repr."""
    forms: set[str] = set()
    for key in filter(None, (api_key, (api_key or "").strip())):
        encoded = key.encode("utf-8", errors="surrogateescape")
        forms |= {key, repr(key)[1:-1], ascii(key)[1:-1], repr(encoded)[2:-1]}
        forms |= {json.dumps(key)[1:-1], urllib.parse.quote(encoded, safe="")}
    ordered = sorted(forms, key=len, reverse=True)  # a stripped form is part of the whole one

    def redact(text: str) -> str:
        for form in ordered:
            text = text.replace(form, "[redacted]")
        return text

    return redact


def _find_secret(url: str) -> str | None:
    # anywhere: a password may hold a slash, and then no parser finds it
    if "@" in url:
        return "a user or a password in it (not shown); name the key's variable in api_key_env"
    if "?" in url or "#" in url:
        return "a query or a fragment (not shown); leave them out"
    return None


def _find_fault(url: str, *, schemes: tuple[str, ...]) -> str | None:
    shown = repr(url if len(url) <= MAX_SHOWN_CHARS else f"{url[:MAX_SHOWN_CHARS]}...")
    if not url.isascii() or not url.isprintable() or " " in url:
        return f"{shown}, with a blank or another character that no URL has; take it out"
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError:
        return f"{shown}; write an IPv6 address in brackets, such as http://[::1]:8000"
    if parts.scheme not in schemes or not host:
        return f"{shown}; write it in full, with {' or '.join(f'{one}://' for one in schemes)}"
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return f"{shown}; its port must be a number from 1 to 65535"
    if not _is_host(host):
        return f"{shown}; its host is neither a name nor an IP address"
    return None


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        name = host.removesuffix(".")
        return len(name) <= 253 and all(_LABEL.fullmatch(label) for label in name.split("."))
    return True
