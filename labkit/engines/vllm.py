"""vLLM as labkit launches it: `vllm serve`, in tables.

Checked against vLLM 0.32 and 0.33. Development mode is on, for two reasons: /server_info tells the
configuration that is really in force, and /reset_prefix_cache forgets. Both answer on the loopback
only. It must not import vllm, which lives in an environment of its own.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import Absent, Flag, Knob, Switch, read_model, say_extra_args, say_knobs
from labkit.engines.interpreter import find_interpreter
from labkit.engines.process import HOST
from labkit.engines.scrape import Sample, Site, empty_sample, read_counts, read_mean
from labkit.params import EngineParams

TITLE = "vLLM"
PROGRAM = "vllm"
REQUIRES = None
READY = "/health"
READY_LINE = None
METRIC_PREFIX = "vllm:"
PROBE = Path(__file__).parent / "probes" / "vllm_flags.py"

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--max-num-seqs"),
    "max_num_batched_tokens": Flag("--max-num-batched-tokens"),
    "max_model_len": Flag("--max-model-len"),
    "enable_chunked_prefill": Switch(
        on=("--enable-chunked-prefill",), off=("--no-enable-chunked-prefill",)
    ),
    "enable_prefix_caching": Switch(
        on=("--enable-prefix-caching",), off=("--no-enable-prefix-caching",)
    ),
    "gpu_memory_utilization": Flag("--gpu-memory-utilization"),
    "block_size": Flag("--block-size"),
    "scheduling_policy": Flag("--scheduling-policy"),
    "num_threads": Absent(
        "on a CPU engine.env VLLM_CPU_OMP_THREADS_BIND says which cores it uses, such as 0-1"
    ),
}

RENAMED = {
    "swap-space": "it is gone, as sequences are preempted by computing them again; the nearest is "
    "kv-offloading-size, in GiB",
    "disable-log-requests": "it is gone, as requests are not logged any more; leave it out",
    "scheduler-policy": "set engine.scheduling_policy",
    "disable-log-stats": "it would empty /metrics, which labkit reads; leave it out",
    "max-seq-len-to-capture": "it is gone; cudagraph-capture-sizes is the nearest",
    "use-v2-block-manager": "it is gone, as there is one block manager; leave it out",
    "num-scheduler-steps": "it is gone; async-scheduling is the nearest",
    "enable-radix-cache": "that is SGLang's word; set engine.enable_prefix_caching",
    "enable-chunked-context": "that is TensorRT-LLM's word; set engine.enable_chunked_prefill",
}

TAKEN = {
    "host": None,
    "port": "port",
    "served-model-name": None,
    "scheduler-cls": "static_batching",
    **{
        name.replace("_", "-"): name for name, knob in KNOBS.items() if not isinstance(knob, Absent)
    },
}

METRICS = {
    "num_requests_running": "vllm:num_requests_running",
    "num_requests_waiting": "vllm:num_requests_waiting",
    "num_preemptions": "vllm:num_preemptions_total",
    "prompt_tokens_total": "vllm:prompt_tokens_total",
    "generation_tokens_total": "vllm:generation_tokens_total",
    "prefix_cache_queries_tokens_total": "vllm:prefix_cache_queries_total",
    "prefix_cache_hits_tokens_total": "vllm:prefix_cache_hits_total",
    "engine_ttft_s_sum": "vllm:time_to_first_token_seconds_sum",
    "engine_ttft_count": "vllm:time_to_first_token_seconds_count",
    "engine_queue_time_s_sum": "vllm:request_queue_time_seconds_sum",
    "engine_queue_time_count": "vllm:request_queue_time_seconds_count",
    "engine_prefill_time_s_sum": "vllm:request_prefill_time_seconds_sum",
    "engine_prefill_time_count": "vllm:request_prefill_time_seconds_count",
    "engine_decode_time_s_sum": "vllm:request_decode_time_seconds_sum",
    "engine_decode_time_count": "vllm:request_decode_time_seconds_count",
}

FAILURES = (
    Failure("unknown_flag", r"error: unrecognized arguments:"),
    Failure("unknown_flag", r"error: argument --[\w-]+: (?:invalid|expected)"),
    Failure("bad_combination", r"max_num_batched_tokens \(\d+\) (?:is smaller than max_model_len|"
            r"must be greater than or equal to)"),
    Failure("bad_combination", r"No common block size for"),
    Failure("bad_combination", r"max_num_active_seqs \(\d+\) cannot be greater"),
    Failure("bad_combination", r"long_prefill_token_threshold.*max_model_len"),
    Failure("context_too_long", r"User-specified max_model_len \(\d+\) is greater than"),
    Failure("kv_too_small", r"To serve at least one request with the model's max seq len"),
    Failure("kv_too_small", r"No available memory for the cache blocks"),
    Failure("oom_load", r"Free memory on device .* is less than desired"),
    Failure("oom_load", r"less than desired (?:CPU|GPU) memory utilization"),
    Failure("oom_profile", r"CUDA out of memory occurred when warming up sampler|"
            r"Error in memory profiling"),
    Failure("model_not_found", r"HFValidationError: Repo id must be in the form|"
            r"is not a valid model identifier|couldn't connect to|Repository Not Found|"
            r"Invalid repository ID or local directory"),
    Failure("oom_run", r"(?:execute_model|sample_tokens)[\s\S]*torch.OutOfMemoryError"),
    Failure("oom_load", r"(?:load_model|initialize_parameters)[\s\S]*torch.OutOfMemoryError"),
    Failure("oom_profile", r"(?:profile_run|determine_available_memory)[\s\S]*OutOfMemoryError"),
    Failure("oom_load", r"torch\.OutOfMemoryError|CUDA out of memory"),
)  # fmt: skip

SCHEDULER = "labkit_static.StaticScheduler"
STATIC_SCHEDULER = '''\
"""A scheduler that admits nobody while a batch runs: static batching, as a control."""

from vllm.v1.core.sched.scheduler import Scheduler


class StaticScheduler(Scheduler):
    def schedule(self, *args, **kwargs):
        limit = self.max_num_active_reqs
        if self.running:
            self.max_num_active_reqs = len(self.running)
        try:
            return super().schedule(*args, **kwargs)
        finally:
            self.max_num_active_reqs = limit
'''
"""`max_num_active_reqs` is the name in vLLM 0.32 and 0.33; an older one fails at its first step."""


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return `vllm serve` with every knob that is set."""
    model = read_model(params, TITLE)
    said = say_knobs(params, KNOBS, TITLE)
    command = [program, "serve", model, "--host", HOST, "--port", str(port)]
    command += ["--served-model-name", name_served(params), *said.flags]
    env, files = {"VLLM_SERVER_DEV_MODE": "1", **params.env}, {}
    if params.static_batching is not None:
        command += ["--no-async-scheduling"]  # both arms: a class of one's own can't have it
    if params.static_batching:
        command += ["--scheduler-cls", SCHEDULER]
        files["labkit_static.py"] = STATIC_SCHEDULER
        env["PYTHONPATH"] = str(folder.absolute())
    command += say_extra_args(params, taken=TAKEN, renamed=RENAMED)
    return Launch(command, env, files)


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Let the installed vLLM parse each command and check its combinations; about 15 s in all."""
    commands = [launch.command[1:] for launch in launches]
    done = subprocess.run(
        [find_interpreter(program), str(PROBE)],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("labkit-told "):
            told: list[str | None] = json.loads(line.removeprefix("labkit-told "))
            return told
    reason = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
    return [f"its parser did not run: {reason}"]


def name_served(params: EngineParams) -> str:
    """Return the last part of the model's path or hub name."""
    return Path(str(params.model)).name


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return the configuration in force, by section."""
    told = site.json("/server_info?config_format=json", timeout_s=30.0)["vllm_config"]
    return {name: told[name] for name in ("cache_config", "scheduler_config", "model_config")}


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs as the configuration in force has them."""
    cache, scheduler = told["cache_config"], told["scheduler_config"]
    static = scheduler.get("scheduler_cls") or ""
    return {
        "max_num_seqs": scheduler.get("max_num_seqs"),
        "max_num_batched_tokens": scheduler.get("max_num_batched_tokens"),
        "max_model_len": told["model_config"].get("max_model_len"),
        "enable_chunked_prefill": scheduler.get("enable_chunked_prefill"),
        "enable_prefix_caching": cache.get("enable_prefix_caching"),
        "gpu_memory_utilization": cache.get("gpu_memory_utilization"),
        "block_size": cache.get("block_size"),
        "scheduling_policy": scheduler.get("policy"),
        "static_batching": SCHEDULER.rpartition(".")[2] in str(static),
        "async_scheduling": scheduler.get("async_scheduling"),
    }


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /metrics; several engines behind it are summed."""
    metrics = site.metrics()
    usage = read_mean(metrics, "vllm:kv_cache_usage_perc")
    tokens, size_bytes = 0, 0
    for labels, _ in metrics.get("vllm:cache_config_info", []):
        size = labels.get("kv_cache_size_tokens", "")
        blocks, block = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
        if size.isdecimal():
            tokens += int(size)
        elif blocks.isdecimal() and block.isdecimal():
            tokens += int(blocks) * int(block)
        memory = labels.get("kv_cache_memory_bytes", "")
        size_bytes += int(memory) if memory.isdecimal() else 0
    return empty_sample() | read_counts(metrics, METRICS) | {
        "kv_cache_usage": usage,
        "kv_cache_used_tokens": None if usage is None or not tokens else round(usage * tokens),
        "kv_cache_capacity_tokens": tokens or None,
        "kv_cache_capacity_bytes": size_bytes or None,
    }  # fmt: skip


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize."""
    body = {"model": model, "prompt": text, "add_special_tokens": False}
    return len(site.json("/tokenize", body, timeout_s=30.0)["tokens"])


def reset_cache(site: Site) -> bool:
    """Forget every cached prefix; it can while nothing runs."""
    return bool(json.loads(site.text("/reset_prefix_cache", {})).get("success", True))
