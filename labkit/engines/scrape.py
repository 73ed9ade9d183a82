"""One look at a serving engine over HTTP, and what its own names mean in labkit's.

It must not know who launched the engine. A look opens its own connection; the loopback is never
reached through a proxy.
"""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

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
)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ERRORS = (OSError, http.client.HTTPException, ValueError, RecursionError)
"""What get_text and get_json raise when nobody answers, or with something else than asked for."""


def get_text(
    url: str, *, timeout_s: float = 5.0, api_key: str | None = None, body: Any = None
) -> str:
    """GET a page, or POST a JSON body to it, and return what came.

    Raises urllib's HTTPError for a status that is not 2xx, else one of ERRORS.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers)
    handlers: list[urllib.request.BaseHandler] = []
    if urllib.parse.urlsplit(url).hostname in LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as answer:
            return str(answer.read().decode("utf-8", errors="replace"))
    except urllib.error.HTTPError as error:
        error.close()
        raise


def get_json(url: str, *, timeout_s: float = 5.0, api_key: str | None = None) -> Any:
    """GET a JSON document; raises as get_text does."""
    return json.loads(get_text(url, timeout_s=timeout_s, api_key=api_key))


def count_tokens(
    root: str, text: str, *, flavour: str, model: str, api_key: str | None = None
) -> int:
    """Return how many tokens a text has for the model of a server, special tokens not counted.

    llama.cpp and vLLM both have /tokenize, with fields of their own. Raises as get_text does.
    """
    body = (
        {"content": text, "add_special": False}
        if flavour == "llamacpp"
        else {"model": model, "prompt": text, "add_special_tokens": False}
    )
    told = json.loads(get_text(f"{root}/tokenize", api_key=api_key, body=body, timeout_s=30.0))
    return len(told["tokens"])


def parse_metrics(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return name -> [(labels, value)] of Prometheus text; raises ValueError if it is none."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), float(sample.value)))
    return found


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


def map_vllm(text: str) -> Sample:
    """Return labkit's sample from vLLM's /metrics text; several engines behind it are summed."""
    metrics = parse_metrics(text)
    usages = [value for _, value in metrics.get("vllm:kv_cache_usage_perc", [])]
    usage = sum(usages) / len(usages) if usages else None
    capacity = 0
    for labels, _ in metrics.get("vllm:cache_config_info", []):
        size = labels.get("kv_cache_size_tokens", "")
        blocks, block = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
        if size.isdecimal():
            capacity += int(size)
        elif blocks.isdecimal() and block.isdecimal():
            capacity += int(blocks) * int(block)
    return empty_sample() | {
        "num_requests_running": _sum(metrics, "vllm:num_requests_running"),
        "num_requests_waiting": _sum(metrics, "vllm:num_requests_waiting"),
        "kv_cache_usage": usage,
        "kv_cache_used_tokens": None if usage is None or not capacity else round(usage * capacity),
        "kv_cache_capacity_tokens": capacity or None,
        "num_preemptions": _sum(metrics, "vllm:num_preemptions_total"),
        "prompt_tokens_total": _sum(metrics, "vllm:prompt_tokens_total"),
        "generation_tokens_total": _sum(metrics, "vllm:generation_tokens_total"),
        "prefix_cache_queries_tokens_total": _sum(metrics, "vllm:prefix_cache_queries_total"),
        "prefix_cache_hits_tokens_total": _sum(metrics, "vllm:prefix_cache_hits_total"),
    }


def _sum(metrics: dict[str, list[tuple[dict[str, str], float]]], name: str) -> int | None:
    found = metrics.get(name)
    return None if found is None else round(sum(value for _, value in found))


def _count_decoded(slot: dict[str, Any]) -> int:
    tokens = slot.get("next_token") or [{}]
    return int(tokens[0].get("n_decoded", 0)) if isinstance(tokens, list) else 0


def _has_begun(slot: dict[str, Any]) -> bool:
    done = (slot.get("n_prompt_tokens_processed"), slot.get("n_prompt_tokens_cache"))
    return any(done) or _count_decoded(slot) > 0
