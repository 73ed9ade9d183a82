"""The forms of a base URL that may be meant: people paste it with, without and with twice `/v1`.

Pure. It must not know whether a URL is allowed, nor which of the forms answers.
"""

from urllib.parse import urlsplit

ROUTES = ("/chat/completions", "/completions", "/models")


def list_forms(url: str) -> list[str]:
    """Return the base URLs that may be meant, likeliest first, without a slash at their ends."""
    url = url.rstrip("/")
    for route in ROUTES:
        url = url.removesuffix(route)
    if url.endswith("/v1"):
        return [url, url.removesuffix("/v1")]
    return [url, f"{url}/v1"] if urlsplit(url).path else [f"{url}/v1", url]


def explain_form(asked: str, taken: str) -> str:
    """Return in words how the form that answered differs from the one that was asked for."""
    asked = asked.strip()
    if asked == taken:
        return "as it was given"
    bare = asked.rstrip("/")
    if bare == taken:
        return "without the slash at its end"
    for route in ROUTES:
        if bare.endswith(route):
            return f"without {route}, which is put there for each request"
    if bare.endswith("/v1/v1"):
        return "with one /v1, which stood there twice"
    return "with /v1 added" if taken.endswith("/v1") else "without /v1"
