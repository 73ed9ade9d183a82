"""TensorRT-LLM as labkit launches it: `trtllm-serve`, in tables.

Written from its published sources (1.2 to 1.3); never run here. What has no flag goes into a
settings file. Old versions let that file win over flags and new ones the reverse, so nothing is
said twice. It must not import tensorrt_llm, which lives in an environment of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import (
    Absent,
    Flag,
    Knob,
    Setting,
    put,
    read_model,
    say_extra_args,
    say_knobs,
)
from labkit.engines.help_text import check_listed
from labkit.engines.process import HOST
from labkit.engines.scrape import Site
from labkit.engines.tensorrt_llm_looks import learn as learn
from labkit.engines.tensorrt_llm_looks import sample as sample
from labkit.errors import ParamsError
from labkit.params import EngineParams

TITLE = "TensorRT-LLM"
PROGRAM = "trtllm-serve"
REQUIRES = None
METRIC_PREFIX = "trtllm_"
READY = "/health"
READY_LINE = None
SETTINGS = "trtllm.yaml"
"""Given by --extra_llm_api_options, which all versions know; --config came later."""
POLICY = "scheduler_config.capacity_scheduler_policy"
POLICIES = ("GUARANTEED_NO_EVICT", "MAX_UTILIZATION")

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--max_batch_size"),
    "max_num_batched_tokens": Flag("--max_num_tokens"),
    "max_model_len": Flag("--max_seq_len"),
    "enable_chunked_prefill": Setting("enable_chunked_prefill"),
    "enable_prefix_caching": Setting("kv_cache_config.enable_block_reuse"),
    "gpu_memory_utilization": Setting("kv_cache_config.free_gpu_memory_fraction"),
    "block_size": Setting("kv_cache_config.tokens_per_block"),
    "scheduling_policy": Setting(POLICY),
    "num_threads": Absent("it computes on a GPU; CUDA_VISIBLE_DEVICES in engine.env says on which"),
}
"""gpu_memory_utilization is here the share of what is free after the weights are loaded."""

RENAMED = {
    "max-input-len": "set engine.max_model_len, which holds prompt and completion together",
    "max-output-len": "it is gone; set engine.max_model_len, prompt and completion together",
    "enable-chunked-context": "set engine.enable_chunked_prefill",
    "scheduler-policy": "set engine.scheduling_policy",
    "scheduler-config.capacity-scheduler-policy": "set engine.scheduling_policy, or "
    "engine.static_batching",
    "batching-type": "it is of the old backend; set engine.static_batching",
    "swap-space": "that was vLLM's word; kv_cache_config.host_cache_size, in bytes, is the nearest",
    "max-num-seqs": "that is vLLM's word; set engine.max_num_seqs",
    "max-num-batched-tokens": "that is vLLM's word; set engine.max_num_batched_tokens",
    "max-model-len": "that is vLLM's word; set engine.max_model_len",
    "gpu-memory-utilization": "that is vLLM's word; set engine.gpu_memory_utilization",
    "enable-prefix-caching": "that is vLLM's word; set engine.enable_prefix_caching",
    "enable-radix-cache": "that is SGLang's word; set engine.enable_prefix_caching",
    "disable-log-requests": "requests are not logged; leave it out",
}

TAKEN = {
    "host": None,
    "port": "port",
    "config": None,
    "extra-llm-api-options": None,
    "served-model-name": None,
    "enable-iter-perf-stats": None,
    "return-perf-metrics": None,
    "free-gpu-memory-fraction": "gpu_memory_utilization",
    "kv-cache-free-gpu-memory-fraction": "gpu_memory_utilization",
    **{
        (knob.path if isinstance(knob, Setting) else knob.name[2:]).replace("_", "-"): name
        for name, knob in KNOBS.items()
        if isinstance(knob, Flag | Setting)
    },
}

FLAGS = {
    "tokenizer", "custom_tokenizer", "backend", "custom_module_dirs", "log_level", "max_beam_width",
    "max_batch_size", "max_num_tokens", "max_seq_len", "tensor_parallel_size", "tp_size",
    "pipeline_parallel_size", "pp_size", "context_parallel_size", "cp_size",
    "moe_expert_parallel_size", "ep_size", "moe_cluster_parallel_size", "cluster_size",
    "gpus_per_node", "free_gpu_memory_fraction", "kv_cache_free_gpu_memory_fraction",
    "num_postprocess_workers", "trust_remote_code", "revision", "reasoning_parser", "tool_parser",
    "metadata_server_config_file", "server_role", "fail_fast_on_attention_window_too_large",
    "otlp_traces_endpoint", "disagg_cluster_uri", "media_io_kwargs", "chat_template",
}  # fmt: skip
"""extra_args that are flags; so is all that is written with dashes before it. The others are keys
of the settings file, dotted where they are nested."""

FAILURES = (
    Failure("unknown_flag", r"Error: No such option|Error: Invalid value for '--"),
    Failure("unknown_flag", r"Extra inputs are not permitted"),
    Failure("bad_combination", r"validation errors? for \w*(?:LlmArgs|Config)\b"),
    Failure("kv_too_small", r"maxTokensInPagedKvCache .*must be large enough"),
    Failure("oom_run", r"Encountered an error in forward function:.*out of memory"),
    Failure("oom_load", r"The following component could not be created: Model(?m:$)"),
    Failure("oom_profile", r"Executor creation failed due to insufficient GPU memory"),
    Failure("model_not_found", r"Repo id must be in the form|is not a valid model identifier|"
            r"Repository Not Found|couldn't connect to|no config\.json exists in"),
    Failure("oom_load", r"OutOfMemoryError|CUDA out of memory|CUDA error: out of memory"),
)  # fmt: skip


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return `trtllm-serve serve` with every knob that is set, and its settings file."""
    model = read_model(params, TITLE)
    _check_sizes(params)
    extra = dict(_flatten(params.extra_args))
    whole = params.model_copy(update={"extra_args": extra})
    say_extra_args(whole, taken=TAKEN, renamed=RENAMED)  # raises, whatever is a flag or a key
    flags = {name: value for name, value in extra.items() if _is_flag(name, value)}
    said = say_knobs(params, KNOBS, TITLE)
    settings = {**said.settings, "enable_iter_perf_stats": True, "return_perf_metrics": True}
    if (policy := _choose_policy(params)) is not None:
        put(settings, POLICY, policy)
    for name, value in extra.items():
        if name not in flags:
            put(settings, name.lstrip("-").replace("-", "_"), value)
    command = [program, "serve", model, "--host", HOST, "--port", str(port)]
    command += ["--extra_llm_api_options", str(folder.absolute() / SETTINGS), *said.flags]
    command += say_extra_args(
        params.model_copy(update={"extra_args": flags}), taken={}, renamed={}, separator="_"
    )
    return Launch(command, dict(params.env), {SETTINGS: yaml.safe_dump(settings)})


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Check the flags against what the installed program lists; keys are checked at its start."""
    return check_listed([program, "serve", "--help"], launches)


def name_served(params: EngineParams) -> str:
    """Return a folder's last part, or a hub name as it is: that's how it names what it serves."""
    model = Path(str(params.model))
    return model.name if model.is_dir() else str(params.model)


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes that its log told at the start."""
    return {name: told[name] for name in KNOBS if name in told}


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return None: it has no page that tokenizes."""
    return None


def reset_cache(site: Site) -> bool:
    """Return False: it has no page that forgets; the salt of prompts keeps points apart."""
    return False


def _check_sizes(params: EngineParams) -> None:
    """Refuse a budget that a prompt may not fit into; chunks unset may be on purpose."""
    budget, length = params.max_num_batched_tokens, params.max_model_len
    if budget and length and budget < length and params.enable_chunked_prefill is False:
        raise ParamsError(
            f"expected engine.max_num_batched_tokens of at least max_model_len {length} without "
            f"chunked prefill, found {budget}: longer prompts would be rejected; change one of "
            f"the three"
        )


def _choose_policy(params: EngineParams) -> str | None:
    asked = params.scheduling_policy
    if asked is not None and params.static_batching:
        raise ParamsError(
            f"expected no engine.scheduling_policy beside static_batching for {TITLE}, found "
            f"{asked!r}: both are its capacity scheduler policy; leave one out"
        )
    if asked is not None and asked.upper() not in POLICIES:
        raise ParamsError(
            f"expected engine.scheduling_policy {' or '.join(POLICIES)} for {TITLE}, found "
            f"{asked!r}: it always serves first come first served; choose one or leave it out"
        )
    return "STATIC_BATCH" if params.static_batching else asked and asked.upper()


def _flatten(given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        if isinstance(value, Mapping) and not name.startswith("-"):
            yield from _flatten(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _is_flag(name: str, value: Any) -> bool:
    return name.startswith("-") or (name.replace("-", "_") in FLAGS and value is not False)
