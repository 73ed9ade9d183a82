"""SGLang as labkit launches it: `sglang serve`, in tables.

Checked against SGLang 0.5.23. Readiness is asked of /ready, as /health generates a token each time.
Its load is published at every decode step, as it would otherwise stand still for 15. It must not
import sglang, which lives in an environment of its own.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import (
    Absent,
    Flag,
    Knob,
    Switch,
    read_model,
    say_extra_args,
    say_knobs,
)
from labkit.engines.interpreter import find_interpreter
from labkit.engines.process import HOST
from labkit.engines.scrape import Metrics, Sample, Site, empty_sample, read_counts
from labkit.errors import ParamsError
from labkit.params import EngineParams

TITLE = "SGLang"
PROGRAM = "sglang"
REQUIRES = None
METRIC_PREFIX = "sglang:"
READY = "/ready"
READY_LINE = None
EVERY_STEP = [
    "--enable-metrics",
    "--decode-log-interval",
    "1",
    "--load-snapshot-publish-interval",
    "1",
]
PROBE = Path(__file__).parent / "probes" / "sglang_flags.py"

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--max-running-requests"),
    "max_num_batched_tokens": Absent(
        "it has no budget for prompt and decode tokens together; the nearest are "
        "engine.extra_args chunked-prefill-size (prompt tokens of one step) and max-prefill-tokens"
    ),
    "max_model_len": Flag("--context-length"),
    "enable_chunked_prefill": Switch(off=("--chunked-prefill-size", "-1")),
    "enable_prefix_caching": Switch(off=("--disable-radix-cache",)),
    "gpu_memory_utilization": Flag("--mem-fraction-static"),
    "block_size": Flag("--page-size"),
    "scheduling_policy": Flag("--schedule-policy"),
    "num_threads": Absent(
        "on a CPU engine.env SGLANG_CPU_OMP_THREADS_BIND says which cores it uses, such as 0-1"
    ),
}

RENAMED = {
    "enable-radix-cache": "it never was a flag; set engine.enable_prefix_caching",
    "enable-prefix-caching": "that is vLLM's word; set engine.enable_prefix_caching",
    "enable-chunked-prefill": "that is vLLM's word; set engine.enable_chunked_prefill",
    "max-num-seqs": "that is vLLM's word; set engine.max_num_seqs",
    "max-num-batched-tokens": "that is vLLM's word; the nearest is chunked-prefill-size",
    "gpu-memory-utilization": "that is vLLM's word; set engine.gpu_memory_utilization",
    "scheduling-policy": "that is vLLM's word; set engine.scheduling_policy",
    "disable-log-requests": "requests are not logged unless log-requests is given; leave it out",
}

TAKEN = {
    "host": None,
    "port": "port",
    "model": None,
    "model-path": None,
    "served-model-name": None,
    "enable-metrics": None,
    "decode-log-interval": None,
    "load-snapshot-publish-interval": None,
    "min-free-slots-delay": "static_batching",
    "disable-radix-cache": "enable_prefix_caching",
    **{knob.name.lstrip("-"): name for name, knob in KNOBS.items() if isinstance(knob, Flag)},
}

METRICS = {
    "prompt_tokens_total": "sglang:prompt_tokens_total",
    "generation_tokens_total": "sglang:generation_tokens_total",
    "prefix_cache_queries_tokens_total": "sglang:prompt_tokens_total",
    "engine_ttft_s_sum": "sglang:time_to_first_token_seconds_sum",
    "engine_ttft_count": "sglang:time_to_first_token_seconds_count",
    "engine_queue_time_s_sum": "sglang:queue_time_seconds_sum",
    "engine_queue_time_count": "sglang:queue_time_seconds_count",
}
LATE = {
    "num_preemptions": "sglang:num_retracted_requests_total",
    "prefix_cache_hits_tokens_total": "sglang:cached_tokens_total",
}
"""Counters that are not there before their first event; a retraction is a preemption. Tokens are
counted when their request ends."""

FAILURES = (
    Failure("unknown_flag", r"error: unrecognized arguments:"),
    Failure("unknown_flag", r"error: (?:argument --[\w/ -]+: |ambiguous option)"),
    Failure("bad_combination", r"chunked_prefill_size must be divisible by page_size"),
    Failure("bad_combination", r"To use priority scheduling, schedule_policy must be"),
    Failure("bad_combination", r"--retraction-policy priority requires"),
    Failure("bad_combination", r"--min-free-slots-delay is not supported with pipeline"),
    Failure("bad_combination", r"served_model_name cannot contain a colon"),
    Failure("bad_combination", r"enable-hierarchical-cache and disable-radix-cache are mutually"),
    Failure("context_too_long", r"context_length \(\d+\) is greater than the derived"),
    Failure("kv_too_small", r"Loaded weights leave no GPU memory for the KV cache"),
    Failure("kv_too_small", r"Not enough memory\. Please try to increase --mem-fraction-static"),
    Failure("oom_profile", r"Capture (?:prefill )?(?:CUDA|cuda) graph failed"),
    Failure("model_not_found", r"Repo id must (?:be in the form|use)|couldn't connect to|"
            r"is not a valid model identifier|Repository Not Found|is not a local folder"),
    Failure("oom_run", r"(?:Prefill|Decode) out of memory"),
    Failure("oom_run", r"event_loop_\w+[\s\S]*(?:OutOfMemoryError|CUDA out of memory)"),
    Failure("oom_profile", r"alloc_memory_pool[\s\S]*(?:OutOfMemoryError|CUDA out of memory)"),
    Failure("oom_load", r"OutOfMemoryError|CUDA out of memory"),
)  # fmt: skip


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return `sglang serve` with every knob that is set."""
    model = read_model(params, TITLE)
    said = say_knobs(params, KNOBS, TITLE)
    command = [program, "serve", "--model-path", model, "--host", HOST, "--port", str(port)]
    command += ["--served-model-name", name_served(params)]
    command += [*EVERY_STEP, *said.flags]
    if params.static_batching:
        command += ["--min-free-slots-delay", str(_count_slots(params))]
    taken: dict[str, str | None] = dict(TAKEN)
    if params.enable_chunked_prefill is False:
        taken["chunked-prefill-size"] = "enable_chunked_prefill"
    command += say_extra_args(params, taken=taken, renamed=RENAMED)
    return Launch(command, params.env)


def _count_slots(params: EngineParams) -> int:
    """Return the slots that must be free before anybody is admitted: all of them."""
    if params.max_num_seqs is None or params.max_num_seqs < 2:
        raise ParamsError(
            f"expected engine.max_num_seqs of 2 or more beside engine.static_batching for {TITLE}, "
            f"found {params.max_num_seqs}; set it, as a batch waits until that many slots are free"
        )
    return params.max_num_seqs


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Let the installed SGLang parse each command and check its combinations; about 15 s in all."""
    told: dict[int, str | None] = {}
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, launch in enumerate(launches):
        groups.setdefault(tuple(sorted(launch.env.items())), []).append(index)
    for env, indices in groups.items():
        commands = [launches[index].command[2:] for index in indices]
        told |= zip(indices, _probe(program, commands, dict(env)), strict=True)
    return [told[index] for index in range(len(launches))]


def _probe(program: str, commands: list[list[str]], env: dict[str, str]) -> list[str | None]:
    done = subprocess.run(
        [find_interpreter(program), str(PROBE)],
        input=json.dumps(commands),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("labkit-told "):
            told: list[str | None] = json.loads(line.removeprefix("labkit-told "))
            return told
    reason = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
    return [f"its parser did not run: {reason}"] * len(commands)


def name_served(params: EngineParams) -> str:
    """Return the last part of the model's path or hub name."""
    return Path(str(params.model)).name


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return the configuration in force, and the context that the model is served with."""
    told: dict[str, Any] = site.json("/server_info", timeout_s=30.0)
    models = site.json("/v1/models", timeout_s=30.0)["data"]
    return told | {"max_model_len": models[0].get("max_model_len")}


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs as the configuration in force has them."""
    states = told.get("internal_states") or [{}]
    slots = states[0].get("effective_max_running_requests_per_dp")
    delay, chunk = told.get("min_free_slots_delay"), told.get("chunked_prefill_size")
    return {
        "max_num_seqs": slots,
        "max_model_len": told["max_model_len"],
        "enable_chunked_prefill": None if chunk is None else chunk > 0,
        "enable_prefix_caching": not told["disable_radix_cache"],
        "gpu_memory_utilization": told.get("mem_fraction_static"),
        "block_size": told.get("page_size"),
        "scheduling_policy": told.get("schedule_policy"),
        "static_batching": bool(delay and slots and slots > 1 and delay >= slots),
        "chunked_prefill_size": chunk,
        "max_prefill_tokens": told.get("max_prefill_tokens"),
    }


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /v1/loads, which tells from the start, and at the counters."""
    look = map_looks(site.json("/v1/loads?include=core")["loads"], site.metrics())
    if told.get("tp_size", 1) * told.get("pp_size", 1) > 1:
        look["kv_cache_capacity_bytes"] = None  # told of the first device only
    return look


def map_looks(loads: Sequence[Mapping[str, Any]], metrics: Metrics) -> Sample:
    """Return labkit's sample; the ranks of data parallelism are summed."""
    used = sum(load["num_used_tokens"] for load in loads)
    capacity = sum(load["max_total_num_tokens"] for load in loads)
    size_gib = sum(value for _, value in metrics.get("sglang:kv_cache_memory_usage_gb", []))
    counts, late = read_counts(metrics, METRICS), read_counts(metrics, LATE)
    if "sglang:num_requests_total" not in metrics:  # none has ended, so the rest is late as well
        late |= counts
    return empty_sample() | counts | {name: value or 0 for name, value in late.items()} | {
        "num_requests_running": sum(load["num_running_reqs"] for load in loads),
        "num_requests_waiting": sum(load["num_waiting_reqs"] for load in loads),
        "kv_cache_usage": used / capacity if capacity else None,
        "kv_cache_used_tokens": used,
        "kv_cache_capacity_tokens": capacity or None,
        "kv_cache_capacity_bytes": round(size_gib * 2**30) or None,
        "engine_prefill_time_s_sum": _sum_prefill(metrics, "sum"),
        "engine_prefill_time_count": _sum_prefill(metrics, "count"),
    }  # fmt: skip


def _sum_prefill(metrics: Metrics, part: Literal["sum", "count"]) -> float | None:
    found = metrics.get(f"sglang:per_stage_req_latency_seconds_{part}", [])
    values = [value for labels, value in found if labels.get("stage") == "prefill_forward"]
    if not values:
        return None
    return sum(values) if part == "sum" else round(sum(values))


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize."""
    body = {"model": model, "prompt": text, "add_special_tokens": False}
    return int(site.json("/tokenize", body, timeout_s=30.0)["count"])


def reset_cache(site: Site) -> bool:
    """Forget every cached prefix; it waits up to 10 s until nothing runs."""
    site.text("/flush_cache?timeout=10", {}, timeout_s=30.0)
    return True
