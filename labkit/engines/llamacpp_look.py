"""llama.cpp that runs already: what it tells of itself over HTTP, as an adapter would say it.

It must not know how llama.cpp is launched.
"""

from collections.abc import Mapping
from typing import Any

from labkit.engines.scrape import Sample, Site, map_llamacpp

METRIC_PREFIX = "llamacpp:"


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return nothing: it needs to tell nothing beforehand."""
    return {}


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /metrics and /slots."""
    return map_llamacpp(site.text("/metrics"), list(site.json("/slots")))


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize."""
    body = {"content": text, "add_special": False}
    return len(site.json("/tokenize", body, timeout_s=30.0)["tokens"])
