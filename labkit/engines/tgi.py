"""Text Generation Inference as labkit launches it: `text-generation-launcher`, in tables.

Written from its published sources (3.3.6-dev, in maintenance since 2026); never run here. It must
not know how its server is built.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import (
    Absent,
    Flag,
    Knob,
    Variable,
    read_model,
    say_extra_args,
    say_knobs,
)
from labkit.engines.help_text import check_listed
from labkit.engines.process import HOST
from labkit.engines.scrape import Sample, Site, empty_sample, read_counts
from labkit.errors import ParamsError
from labkit.params import EngineParams

TITLE = "Text Generation Inference"
PROGRAM = "text-generation-launcher"
REQUIRES = None
METRIC_PREFIX = "tgi_"
READY = "/info"
"""It is there once the model is warm; /health may generate a token."""
READY_LINE = None

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--max-batch-size"),
    "max_num_batched_tokens": Flag("--max-batch-prefill-tokens"),
    "max_model_len": Flag("--max-total-tokens"),
    "enable_chunked_prefill": Variable("PREFILL_CHUNKING"),
    "enable_prefix_caching": Variable("PREFIX_CACHING"),
    "gpu_memory_utilization": Flag("--cuda-memory-fraction"),
    "block_size": Absent(
        "its attention fixes it; ATTENTION in engine.env chooses that: flashinfer has blocks of 1 "
        "token, flashdecoding of 256, paged of 16"
    ),
    "scheduling_policy": Absent(
        "it serves first come first served; with enable_chunked_prefill false it heeds "
        "waiting-served-ratio and max-waiting-tokens in engine.extra_args"
    ),
    "num_threads": Absent("it computes on a GPU; OMP_NUM_THREADS in engine.env is the nearest"),
}
"""max_num_batched_tokens bounds prefill alone; a decode step is bounded by max_num_seqs."""

RENAMED = {
    "max-input-length": "write max-input-tokens",
    "max-num-seqs": "that is vLLM's word; set engine.max_num_seqs",
    "max-num-batched-tokens": "that is vLLM's word; set engine.max_num_batched_tokens",
    "max-model-len": "that is vLLM's word; set engine.max_model_len",
    "gpu-memory-utilization": "that is vLLM's word; set engine.gpu_memory_utilization",
    "enable-chunked-prefill": "that is vLLM's word; set engine.enable_chunked_prefill",
    "enable-prefix-caching": "that is vLLM's word; set engine.enable_prefix_caching",
    "enable-radix-cache": "that is SGLang's word; set engine.enable_prefix_caching",
    "swap-space": "that was vLLM's word; this engine does not swap, leave it out",
    "disable-log-requests": "LOG_LEVEL in engine.env is the nearest",
    "ngrok": "it would serve beyond this machine; leave it out",
    "ngrok-authtoken": "it would serve beyond this machine; leave it out",
    "ngrok-edge": "it would serve beyond this machine; leave it out",
}

TAKEN = {
    "hostname": None,
    "port": "port",
    "model-id": None,
    "shard-uds-path": None,
    **{knob.name[2:]: name for name, knob in KNOBS.items() if isinstance(knob, Flag)},
}

METRICS = {
    "num_requests_running": "tgi_batch_current_size",
    "num_requests_waiting": "tgi_queue_size",
    "kv_cache_used_tokens": "tgi_batch_current_max_tokens",
    "kv_cache_capacity_tokens": "tgi_batch_max_total_tokens",
    "prompt_tokens_total": "tgi_request_input_length_sum",
    "generation_tokens_total": "tgi_request_generated_tokens_sum",
    "engine_queue_time_s_sum": "tgi_request_queue_duration_sum",
    "engine_queue_time_count": "tgi_request_queue_duration_count",
}

FAILURES = (
    Failure("unknown_flag", r"error: unexpected argument|error: invalid value .* for '--"),
    Failure("bad_combination", r"`max_\w+`\s?(?:\(\d+\))? (?:must be|and `max_\w+`)"),
    Failure("bad_combination", r"not enough cuda devices|NotEnoughCUDADevices"),
    Failure("kv_too_small", r"Not enough memory to handle `max_total_tokens="),
    Failure("oom_profile", r"Not enough memory to handle \d+ prefill tokens"),
    Failure("oom_run", r"Method (?:Prefill|Decode) encountered an error[\s\S]*out of memory|"
            r":(?:prefill|decode)\{[^\n]*out of memory"),
    Failure("oom_profile", r"Method Warmup encountered an error[\s\S]*out of memory"),
    Failure("model_not_found", r"Repository Not Found|RepositoryNotFoundError|Repo id must be in|"
            r"is not a valid model identifier|No \.bin weights found"),
    Failure("oom_load", r"OutOfMemoryError|CUDA out of memory"),
)  # fmt: skip

ATTENTION = re.compile(r"Using attention (\S+) - Prefix caching (\w+)")
CAPACITY = re.compile(r"Setting max batch total tokens to (\d+)")
BLOCK_SIZES = {"flashinfer": 1, "paged": 16, "flashdecoding-ipex": 64, "flashdecoding": 256}
RULES = (
    ("max-input-tokens", "<", "max-total-tokens"),
    ("max-total-tokens", "<=", "max-batch-total-tokens"),
    ("max-batch-prefill-tokens", "<=", "max-batch-total-tokens"),
)
"""What it refuses to start with."""


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return `text-generation-launcher` with every knob that is set."""
    model = read_model(params, TITLE)
    if params.static_batching:
        raise ParamsError(
            f"expected no engine.static_batching for {TITLE}, found true: a sequence always joins "
            f"when a place is free; the nearest is load.mode static_batch, where the client sends "
            f"a batch and waits for all of it; leave it out"
        )
    said = say_knobs(params, KNOBS, TITLE)
    for variable in said.env.keys() & params.env.keys():
        raise ParamsError(
            f"expected no {variable} in engine.env beside the knob that labkit says it with, found "
            f"both; leave one out"
        )
    flags = [*said.flags, *say_extra_args(params, taken=TAKEN, renamed=RENAMED)]
    _check_sizes(flags, chunked=said.env.get("PREFILL_CHUNKING") != "0")
    command = [program, "--model-id", model, "--hostname", HOST, "--port", str(port)]
    command += ["--shard-uds-path", f"/tmp/labkit-tgi-{port}"]  # by default all would share one
    return Launch([*command, *flags], {**said.env, **params.env})


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Check the flags against what the installed program lists."""
    return check_listed([program, "--help"], launches)


def name_served(params: EngineParams) -> str:
    """Return the model as it was asked for: it lists that, and takes any name in a request."""
    return str(params.model)


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return what /info tells, and what only its log does."""
    told: dict[str, Any] = {"max_model_len": site.json("/info").get("max_total_tokens")}
    for found in ATTENTION.finditer(log):
        told["block_size"] = BLOCK_SIZES.get(found[1])
        told["enable_prefix_caching"] = found[2].lower() in ("1", "true")
    for found in CAPACITY.finditer(log):
        told["kv_cache_capacity_tokens"] = int(found[1])
    return told


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what it told at its start; its batch sizes it does not tell."""
    return {name: told[name] for name in KNOBS if told.get(name) is not None}


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /metrics.

    The KV cache is counted as it does itself: what the batch has reserved, to its last token.
    """
    found = empty_sample() | read_counts(site.metrics(), METRICS)
    if found["kv_cache_capacity_tokens"] is None:
        found["kv_cache_capacity_tokens"] = told.get("kv_cache_capacity_tokens")
    used, capacity = found["kv_cache_used_tokens"], found["kv_cache_capacity_tokens"]
    if used is not None and capacity:
        found["kv_cache_usage"] = used / capacity
    return found


def request_options() -> dict[str, Any]:
    """Return nothing: it has no way to keep a completion from ending before max_tokens."""
    return {}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize; special ones stand for no part of it."""
    tokens = site.json("/tokenize", {"inputs": text}, timeout_s=30.0)
    return sum(1 for token in tokens if token["stop"] > token["start"])


def reset_cache(site: Site) -> bool:
    """Return False: it has no page that forgets; the salt of prompts keeps points apart."""
    return False


def _check_sizes(flags: Sequence[str], *, chunked: bool) -> None:
    """Refuse the combinations of sizes that it would end with, after minutes of loading."""
    sizes = {
        flag[2:]: int(value)
        for flag, value in pairwise(flags)
        if flag.startswith("--max-") and value.isdecimal()
    }
    rules = RULES if chunked else (*RULES, ("max-input-tokens", "<=", "max-batch-prefill-tokens"))
    for small, sign, large in rules:
        if small not in sizes or large not in sizes:
            continue
        if sizes[small] > sizes[large] or (sign == "<" and sizes[small] == sizes[large]):
            raise ParamsError(
                f"expected {small} {sign} {large} for {TITLE}, found {sizes[small]} and "
                f"{sizes[large]}; change {_name_knob(small)} or {_name_knob(large)}"
            )


def _name_knob(flag: str) -> str:
    knob = TAKEN.get(flag)
    return f"engine.{knob}" if knob else f"engine.extra_args.{flag}"
