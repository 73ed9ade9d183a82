"""What each engine says when it fails, and the cause that labkit has to find in it.

A new engine needs its lines in `LAST_WORDS`, at least one for each of its `FAILURES`.
"""

GENERAL_LAST_WORDS = [
    ("port_in_use", "OSError: [Errno 98] Address already in use"),
    ("port_in_use", "RuntimeError: Failed to bind socket to 127.0.0.1:8000: in use"),
    ("no_driver", "ValueError: No GPU devices found on the node"),
    ("no_driver", "ImportError: libcuda.so.1: cannot open shared object file"),
    ("model_gated", "huggingface_hub.errors.GatedRepoError: 401 Client Error."),
]
"""Lines that any engine may end with."""

LAST_WORDS = {
    # The second, fourth and last as xllamacpp's server said them; the others as its source does.
    "llamacpp": [
        ("unknown_flag", 'labkit-error "n_ubatc is not an attribute of llama.cpp\'s CommonParams"'),
        ("model_not_found", "E llama_model_load_from_file_impl: failed to load model"),
        ("model_not_found", "llama_model_load: error loading model: tensor 'a' not found"),
        ("port_in_use", "E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1"),
        ("kv_too_small", "llama_init_from_model: failed to allocate buffer for kv cache"),
        ("oom_load", "load_tensors: unable to allocate CUDA0 buffer"),
        ("oom_load", "cudaMalloc failed: out of memory"),
        ("oom_load", "E failed to allocate compute buffer"),
        ("oom_run", "CUDA error: out of memory"),
        ("unknown_flag", 'labkit-error "n_ubatch does not take \'many\'"'),
    ],
    "vllm": [
        ("unknown_flag", "vllm: error: unrecognized arguments: --swap-space 4"),
        ("unknown_flag", "vllm: error: argument --block-size: invalid int value: 'x'"),
        (
            "bad_combination",
            "Value error, max_num_batched_tokens (512) is smaller than max_model_len (2048).",
        ),
        ("bad_combination", "ValueError: No common block size for 16 (CPU_ATTN: [MultipleOf(32)])"),
        ("bad_combination", "max_num_active_seqs (8) cannot be greater than max_num_seqs (4)"),
        (
            "bad_combination",
            "long_prefill_token_threshold (9) cannot be greater than the max_model_len (8).",
        ),
        ("context_too_long", "User-specified max_model_len (9) is greater than the derived"),
        ("kv_too_small", "ValueError: To serve at least one request with the model's max seq len"),
        ("kv_too_small", "ValueError: No available memory for the cache blocks."),
        (
            "oom_load",
            "ValueError: Free memory on device (3/8 GiB) on startup is less than desired GPU "
            "memory utilization",
        ),
        ("oom_load", "ValueError: 3 GiB is less than desired CPU memory utilization (0.9)"),
        ("oom_profile", "RuntimeError: CUDA out of memory occurred when warming up sampler"),
        ("model_not_found", "HFValidationError: Repo id must be in the form 'repo_name'"),
        ("oom_run", "in execute_model\n  x\ntorch.OutOfMemoryError: CUDA out of memory."),
        ("oom_load", "in load_model\n  x\ntorch.OutOfMemoryError: CUDA out of memory."),
        ("oom_profile", "in profile_run\n  x\ntorch.OutOfMemoryError: CUDA out of memory."),
        ("oom_load", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ],
    "sglang": [
        ("unknown_flag", "sglang serve: error: unrecognized arguments: --enable-radix-cache"),
        ("unknown_flag", "sglang serve: error: argument --page-size: invalid int value: 'x'"),
        ("bad_combination", "AssertionError: chunked_prefill_size must be divisible by page_size"),
        (
            "bad_combination",
            "AssertionError: To use priority scheduling, schedule_policy must be 'fcfs' or 'lof'.",
        ),
        ("bad_combination", "--retraction-policy priority requires --enable-priority-scheduling"),
        ("bad_combination", "--min-free-slots-delay is not supported with pipeline parallelism"),
        ("bad_combination", "served_model_name cannot contain a colon (':') character"),
        (
            "bad_combination",
            "enable-hierarchical-cache and disable-radix-cache are mutually exclusive",
        ),
        (
            "context_too_long",
            "User-specified context_length (9) is greater than the derived context_length (8)",
        ),
        (
            "kv_too_small",
            "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.2",
        ),
        ("kv_too_small", "Not enough memory. Please try to increase --mem-fraction-static."),
        ("oom_profile", "Exception: Capture cuda graph failed: CUDA out of memory."),
        ("model_not_found", "OSError: Repo id must be in the form 'repo_name'"),
        ("oom_run", "Prefill out of memory. Try to lower your batch size."),
        ("oom_run", "in event_loop_overlap\n  x\ntorch.OutOfMemoryError: CUDA out of memory."),
        ("oom_profile", "in alloc_memory_pool\n  x\ntorch.OutOfMemoryError: CUDA out of memory."),
        ("oom_load", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ],
    "tensorrt_llm": [
        ("unknown_flag", "Error: No such option: --max_input_len"),
        ("unknown_flag", "Error: Invalid value for '--max_seq_len': 'x' is not a valid integer."),
        ("unknown_flag", "1 validation error for TorchLlmArgs\nx\n Extra inputs are not permitted"),
        ("bad_combination", "pydantic_core.ValidationError: 1 validation error for TorchLlmArgs"),
        (
            "kv_too_small",
            "maxTokensInPagedKvCache (64) must be large enough to process at least 1 sequence",
        ),
        ("oom_run", "[E] Encountered an error in forward function: CUDA out of memory. Tried to"),
        (
            "oom_load",
            "Executor creation failed due to insufficient GPU memory.\n\nThe following component "
            "could not be created: Model\nTotal GPU memory (GiB): 15.44",
        ),
        (
            "oom_profile",
            "Executor creation failed due to insufficient GPU memory.\n\nThe following component "
            "could not be created: Initial KV Cache (temporary for KV cache size estimation)",
        ),
        ("model_not_found", "HFValidationError: Repo id must be in the form 'repo_name'"),
        ("model_not_found", "Failed to infer model format because no config.json exists in /m"),
        ("oom_load", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ],
    "tgi": [
        ("unknown_flag", "error: unexpected argument '--swap-space' found"),
        ("unknown_flag", "error: invalid value 'x' for '--dtype <DTYPE>'"),
        ("bad_combination", "`max_input_tokens`(4096) must be < `max_total_tokens`(4096)"),
        (
            "bad_combination",
            "`max_batch_prefill_tokens` must be >= `max_input_tokens`. Given: 512 and 4095",
        ),
        ("bad_combination", "Both `max_input_tokens` (1) and `max_input_length` (1) are set."),
        ("bad_combination", "Error: NotEnoughCUDADevices"),
        ("kv_too_small", "Error: Backend(NotEnoughMemory): Not enough memory to handle "
                         "`max_total_tokens=4096`"),
        (
            "oom_profile",
            "Method Prefill encountered an error.\ntorch.OutOfMemoryError: CUDA out of memory.\n"
            "RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease "
            "`--max-batch-prefill-tokens`",
        ),
        (
            "oom_run",
            "ERROR batch{batch_size=1}:prefill:prefill{id=1 size=1}: text_generation_client: "
            "Server error: CUDA out of memory. Tried to allocate 222.00 MiB.",
        ),
        ("oom_run", "Method Decode encountered an error.\n  x\nCUDA out of memory. Tried to"),
        ("oom_profile", "Method Warmup encountered an error.\n  x\nCUDA out of memory. Tried to"),
        ("model_not_found", "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error."),
        ("oom_load", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ],
}  # fmt: skip
"""Kind of engine -> what it ends with, and the cause that this is."""
