"""Words of the engines, and of what is written about them, that are no keys of the engine section.

Each is answered with labkit's knob, or with where it goes instead. It must not know the params.
"""

KNOBS = {
    "max_num_seqs": (
        "max_batch_size",
        "max_running_requests",
        "max_concurrent_requests",
        "max_num_requests",
        "max_seqs",
        "n_parallel",
        "parallel",
    ),
    "max_num_batched_tokens": (
        "max_num_tokens",
        "max_prefill_tokens",
        "max_batch_prefill_tokens",
        "chunked_prefill_size",
        "token_budget",
        "max_batched_tokens",
        "n_batch",
        "batch_size",
    ),
    "max_model_len": (
        "context_length",
        "max_seq_len",
        "max_sequence_length",
        "max_total_tokens",
        "max_context_length",
        "max_seq_length",
        "n_ctx",
        "ctx_size",
    ),
    "enable_chunked_prefill": ("enable_chunked_context", "chunked_prefill", "chunked_context"),
    "enable_prefix_caching": (
        "enable_radix_cache",
        "radix_cache",
        "prefix_caching",
        "enable_block_reuse",
        "enable_kv_cache_reuse",
        "cache_prompt",
    ),
    "gpu_memory_utilization": (
        "mem_fraction_static",
        "mem_fraction",
        "kv_cache_free_gpu_memory_fraction",
        "kv_cache_free_gpu_mem_fraction",
        "free_gpu_memory_fraction",
        "cuda_memory_fraction",
        "device_memory_utilization",
    ),
    "block_size": ("page_size", "tokens_per_block"),
    "scheduling_policy": (
        "scheduler_policy",
        "schedule_policy",
        "capacity_scheduler_policy",
        "policy",
    ),
    "model": ("model_path", "model_id", "model_name", "served_model_name", "tokenizer"),
    "num_threads": ("n_threads", "threads"),
    "base_url": ("api_base", "url", "endpoint"),
    "api_key_env": ("api_key", "key", "token", "hf_token"),
    "provider": ("default_provider",),
}
"""labkit's knob -> what others call it."""

INSTEAD = {
    "swap_space": "vLLM has no swap space any more, it computes a preempted sequence again; "
    "leave it out",
    "disable_radix_cache": "that is SGLang's word; set engine.enable_prefix_caching: false",
    "max_input_len": "today it is one length for both; set engine.max_model_len to prompt and "
    "completion together",
    "max_output_len": "today it is one length for both; set engine.max_model_len to prompt and "
    "completion together",
    "max_input_tokens": "it limits one request; set engine.max_model_len, and the lengths in "
    "workload",
    "max_tokens": "a request asks for it; set workload.completion_tokens",
    "temperature": "a request asks for it; set workload.temperature",
    "log_stats": "labkit reads what the engine tells of itself, so it is always on; leave it out",
    "disable_log_stats": "labkit reads what the engine tells of itself; leave it out",
    "disable_log_requests": "vLLM logs no requests any more; leave it out",
    "log_level": "set it under engine.extra_args, in the engine's own words",
    "host": "engines answer on the loopback only; leave it out",
    "cuda_visible_devices": "set it under engine.env as CUDA_VISIBLE_DEVICES",
}
"""A word -> what to do."""

PASSED_ON = (
    "tensor_parallel_size",
    "tp_size",
    "tp",
    "pipeline_parallel_size",
    "pp_size",
    "data_parallel_size",
    "dp_size",
    "num_shard",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "trust_remote_code",
    "enforce_eager",
    "seed",
    "num_scheduler_steps",
    "speculative_config",
    "kv_cache_config",
    "attention_backend",
    "max_batch_total_tokens",
    "waiting_served_ratio",
    "cpu_offload_gb",
    "kv_transfer_config",
)
"""What labkit has no word for, and hands on as the engine itself calls it."""

_KNOB_OF = {word: knob for knob, words in KNOBS.items() for word in words}


def explain_word(word: str) -> str | None:
    """Return what to write for a word in the engine section, None for one that nobody knows."""
    name = word.lstrip("-").replace("-", "_").lower()
    if name in INSTEAD:
        return INSTEAD[name]
    if name in _KNOB_OF:
        knob = _KNOB_OF[name]
        tail = ", the name of the variable that holds the key" if knob == "api_key_env" else ""
        return f"set engine.{knob}{tail}"
    if name in PASSED_ON:
        return "set it under engine.extra_args, in the engine's own words"
    return None
