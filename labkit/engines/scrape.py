"""One look at a serving engine over HTTP, and what its own names mean in labkit's.

It must not know who launched the engine. The loopback is never reached through a proxy.
"""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import from_json

from labkit.address import read_key
from labkit.engines.pages import Pages
from labkit.engines.prometheus import Metrics as Metrics
from labkit.engines.prometheus import parse_metrics as parse_metrics

Sample = dict[str, float | int | None]

FIELDS = (
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage",
    "kv_cache_used_tokens",
    "kv_cache_capacity_tokens",
    "num_preemptions",
    "prompt_tokens_total",
    "generation_tokens_total",
    "prefix_cache_queries_tokens_total",
    "prefix_cache_hits_tokens_total",
    "kv_cache_capacity_bytes",
    "engine_ttft_s_sum",
    "engine_ttft_count",
    "engine_queue_time_s_sum",
    "engine_queue_time_count",
    "engine_prefill_time_s_sum",
    "engine_prefill_time_count",
    "engine_decode_time_s_sum",
    "engine_decode_time_count",
)
REDIRECTS = (301, 302, 303, 307, 308)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Made once, as making one costs more than a look does."""
ERRORS = (OSError, http.client.HTTPException, ValueError, RecursionError)
"""What get_text and get_json raise when nobody answers, or with something else than asked for."""


class Site:
    """Where an engine answers; threads may share it."""

    def __init__(self, root: str, api_key_env: str | None = None) -> None:
        """Take the root of its URLs, without a slash at its end, and what a key is read from."""
        self.root = root
        self.api_key_env = api_key_env
        self._pages = None if is_proxied(root) else Pages(root)

    def text(self, path: str, body: Any = None, *, timeout_s: float = 5.0) -> str:
        """Return a page, or what a JSON body posted to it brings; raises as get_text does."""
        return self._read(path, body, timeout_s).decode("utf-8", errors="replace")

    def json(self, path: str, body: Any = None, *, timeout_s: float = 5.0) -> Any:
        """Return a JSON document; raises as get_text does."""
        return from_json(self._read(path, body, timeout_s))

    def metrics(self, path: str = "/metrics") -> Metrics:
        """Return Prometheus metrics by name; raises as get_text does."""
        return parse_metrics(self.text(path))

    def _read(self, path: str, body: Any, timeout_s: float) -> bytes:
        key = read_key(self.api_key_env)
        if self._pages is not None and body is None:
            try:
                return self._pages.get(path, timeout_s=timeout_s, api_key=key)
            except urllib.error.HTTPError as error:
                if error.code not in REDIRECTS:
                    raise
        return _fetch(f"{self.root}{path}", key, body, timeout_s)


def is_proxied(url: str) -> bool:
    """Return whether the environment wants a proxy for a URL; never for the loopback."""
    parts = urllib.parse.urlsplit(url)
    if parts.hostname in LOOPBACK or parts.scheme not in urllib.request.getproxies():
        return False
    return not urllib.request.proxy_bypass(parts.netloc)


def get_text(
    url: str, *, timeout_s: float = 5.0, api_key: str | None = None, body: Any = None
) -> str:
    """GET a page, or POST a JSON body to it, and return what came.

    Raises urllib's HTTPError for a status that is not 2xx, else one of ERRORS.
    """
    return _fetch(url, api_key, body, timeout_s).decode("utf-8", errors="replace")


def get_json(url: str, *, timeout_s: float = 5.0, api_key: str | None = None) -> Any:
    """GET a JSON document; raises as get_text does."""
    return json.loads(get_text(url, timeout_s=timeout_s, api_key=api_key))


def _fetch(url: str, api_key: str | None, body: Any, timeout_s: float) -> bytes:
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers)
    direct = urllib.parse.urlsplit(url).hostname in LOOPBACK
    opener = DIRECT if direct else urllib.request.build_opener()
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        error.close()
        raise


def read_counts(metrics: Metrics, names: Mapping[str, str]) -> Sample:
    """Return labkit's field -> the sum over all series of the metric that the table names.

    Whole numbers; fields that end with `_s_sum` are seconds and stay fractions. None where the
    engine has no such metric.
    """
    told: Sample = {}
    for field, name in names.items():
        found = metrics.get(name)
        total = None if found is None else sum(value for _, value in found)
        told[field] = total if total is None or field.endswith("_s_sum") else round(total)
    return told


def read_mean(metrics: Metrics, name: str) -> float | None:
    """Return the mean over all series of a metric, None where there is none."""
    found = [value for _, value in metrics.get(name, [])]
    return sum(found) / len(found) if found else None


def empty_sample() -> Sample:
    """Return a sample in which nothing is known."""
    return dict.fromkeys(FIELDS)


def map_llamacpp(
    text: str, slots: Iterable[dict[str, Any]], *, unified: bool = False, static: bool = False
) -> Sample:
    """Return labkit's sample from llama.cpp's /metrics text and /slots.

    llama.cpp answers at once, but with what held when its present step began: a request that came
    since then is in no number until the step ends, which a long prefill delays by seconds.

    running   slots that work: in prefill or in decode. One that has its slot but no place in the
              step yet, as another prompt fills the token budget, is among them.
    waiting   requests without a slot (`requests_deferred`). With static batching (`static`) also
              those that have a slot and are held while another one generates.
    KV used   what the running slots hold with the present step in it (`n_prompt_tokens` grows with
              each generated token); idle and held slots keep only what can be thrown away. For a
              slot that awaits its place it is what the request before left there.

    llama.cpp counts prompt tokens that came from the cache apart; here both are prompt tokens, as
    in vLLM.
    """
    metrics = parse_metrics(text)
    slots = list(slots)
    working = [slot for slot in slots if slot.get("is_processing")]
    generates = any(_count_decoded(slot) for slot in working)
    held = [slot for slot in working if static and generates and not _has_begun(slot)]
    running = [slot for slot in working if slot not in held]
    contexts = [int(slot["n_ctx"]) for slot in slots]
    capacity = (max(contexts, default=0) if unified else sum(contexts)) or None
    used = sum(int(slot.get("n_prompt_tokens", 0)) for slot in running)
    deferred = _sum(metrics, "llamacpp:requests_deferred")
    read = _sum(metrics, "llamacpp:prompt_tokens_total")
    cached = _sum(metrics, "llamacpp:prompt_tokens_cached_total")
    prompts = None if read is None or cached is None else read + cached
    return empty_sample() | {
        "num_requests_running": len(running),
        "num_requests_waiting": None if deferred is None else deferred + len(held),
        "kv_cache_usage": used / capacity if capacity else None,
        "kv_cache_used_tokens": used,
        "kv_cache_capacity_tokens": capacity,
        "prompt_tokens_total": prompts,
        "generation_tokens_total": _sum(metrics, "llamacpp:tokens_predicted_total"),
        "prefix_cache_queries_tokens_total": prompts,
        "prefix_cache_hits_tokens_total": cached,
    }


def _sum(metrics: Metrics, name: str) -> int | None:
    found = metrics.get(name)
    return None if found is None else round(sum(value for _, value in found))


def _count_decoded(slot: dict[str, Any]) -> int:
    tokens = slot.get("next_token") or [{}]
    return int(tokens[0].get("n_decoded", 0)) if isinstance(tokens, list) else 0


def _has_begun(slot: dict[str, Any]) -> bool:
    done = (slot.get("n_prompt_tokens_processed"), slot.get("n_prompt_tokens_cache"))
    return any(done) or _count_decoded(slot) > 0
