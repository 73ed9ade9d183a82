"""What each engine says in a life of it: pages, log, and what labkit has to make of them.

A new engine needs a row in `LIVES` and its lines in `LAST_WORDS`; the contract suite does the rest.
Where the numbers come from is said at each.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "engines" / "data"


@dataclass(frozen=True)
class Life:
    """Pages of a running engine, and a part of what labkit is to read from them."""

    pages: dict[str, Any]
    log: str
    effective: dict[str, Any]
    sample: dict[str, Any]
    resets: bool
    num_tokens: int | None
    """What its tokenizer page tells of any text, None where it has none."""


LIVES = {
    # /server_info is a recording of vLLM 0.32; /metrics as it documents them.
    "vllm": Life(
        pages={
            "/health": "",
            "/server_info?config_format=json": json.loads(
                (DATA / "vllm_server_info.json").read_text()
            ),
            "/metrics": (
                'vllm:num_requests_running{engine="0"} 2.0\n'
                'vllm:num_requests_waiting{engine="0"} 5.0\n'
                'vllm:kv_cache_usage_perc{engine="0"} 0.25\n'
                'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0\n'
            ),
            "/reset_prefix_cache": {"success": True},
            "/tokenize": {"tokens": [5, 6, 7]},
        },
        log="INFO CPU KV cache size: 1,600 tokens, Maximum concurrency for 1,024 tokens: 1.56x",
        effective={"max_num_seqs": 4, "max_num_batched_tokens": 256, "max_model_len": 1024},
        sample={
            "num_requests_running": 2,
            "num_requests_waiting": 5,
            "kv_cache_usage": 0.25,
            "kv_cache_used_tokens": 400,
            "kv_cache_capacity_tokens": 1600,
        },
        resets=True,
        num_tokens=3,
    ),
    # The fields that SGLang 0.5.23 told in real runs, with numbers of their own.
    "sglang": Life(
        pages={
            "/ready": "",
            "/server_info": {
                "max_total_num_tokens": 4096,
                "disable_radix_cache": False,
                "mem_fraction_static": 0.3,
                "page_size": 1,
                "schedule_policy": "lpm",
                "chunked_prefill_size": 512,
                "internal_states": [{"effective_max_running_requests_per_dp": 4}],
            },
            "/v1/models": {"data": [{"id": "name", "max_model_len": 1024}]},
            "/v1/loads?include=core": {
                "loads": [
                    {
                        "num_running_reqs": 2,
                        "num_waiting_reqs": 6,
                        "num_used_tokens": 1024,
                        "max_total_num_tokens": 4096,
                    }
                ]
            },
            "/metrics": (
                'sglang:num_requests_total{model_name="m"} 3.0\n'
                'sglang:generation_tokens_total{model_name="m"} 96.0\n'
            ),
            "/flush_cache?timeout=10": "Cache flushed.",
            "/tokenize": {"tokens": [5, 6, 7], "count": 3},
        },
        log="max_total_num_tokens=4096, chunked_prefill_size=512, max_prefill_tokens=16384, "
        "max_running_requests=4, context_len=1024",
        effective={"max_num_seqs": 4, "max_model_len": 1024, "scheduling_policy": "lpm"},
        sample={
            "num_requests_running": 2,
            "num_requests_waiting": 6,
            "kv_cache_usage": 0.25,
            "kv_cache_used_tokens": 1024,
            "kv_cache_capacity_tokens": 4096,
            "generation_tokens_total": 96,
        },
        resets=True,
        num_tokens=3,
    ),
    # Log lines as its documentation shows them; a step as its documentation and tests show it.
    "tensorrt_llm": Life(
        pages={
            "/health": "",
            "/metrics": [
                {"iter": 153, "numActiveRequests": 9},
                {
                    "iter": 154,
                    "numActiveRequests": 5,
                    "numQueuedRequests": 3,
                    "kvCacheStats": {
                        "maxNumBlocks": 1000,
                        "freeNumBlocks": 400,
                        "usedNumBlocks": 600,
                        "tokensPerBlock": 32,
                        "reusedBlocks": 4,
                        "missedBlocks": 36,
                    },
                },
            ],
            "/prometheus/metrics": "trtllm_kv_cache_utilization 0.1\n",
        },
        log=(
            "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n"
            "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
            "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1.00 GiB for max tokens in paged KV "
            "cache (800).\n"
            "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.50 GiB for max tokens in paged KV "
            "cache (32000).\n"
            "[TRT-LLM] [I] max_seq_len=4096, max_num_requests=2048, max_num_tokens=8192, "
            "max_batch_size=64"
        ),
        effective={
            "max_num_seqs": 64,
            "max_num_batched_tokens": 8192,
            "max_model_len": 4096,
            "block_size": 32,
        },
        sample={
            "num_requests_running": 5,
            "num_requests_waiting": 3,
            "kv_cache_usage": 0.6,
            "kv_cache_used_tokens": 19200,
            "kv_cache_capacity_tokens": 32000,
            "kv_cache_capacity_bytes": 28454158336,
            "prefix_cache_hits_tokens_total": 128,
            "prefix_cache_queries_tokens_total": 1280,
        },
        resets=False,
        num_tokens=None,
    ),
    # Log lines of a real start in a public issue; metrics by the names of its documentation.
    "tgi": Life(
        pages={
            "/info": {"model_id": "org/name", "max_input_tokens": 4095, "max_total_tokens": 4096},
            "/metrics": (
                "# TYPE tgi_batch_current_size gauge\ntgi_batch_current_size 8\n"
                "# TYPE tgi_queue_size gauge\ntgi_queue_size 5\n"
                "# TYPE tgi_batch_current_max_tokens gauge\ntgi_batch_current_max_tokens 2048\n"
                "# TYPE tgi_batch_max_total_tokens gauge\ntgi_batch_max_total_tokens 8192\n"
                "# TYPE tgi_request_generated_tokens histogram\n"
                'tgi_request_generated_tokens_bucket{le="+Inf"} 4\n'
                "tgi_request_generated_tokens_sum 1024\ntgi_request_generated_tokens_count 4\n"
            ),
            "/tokenize": [
                {"id": 1, "text": "", "start": 0, "stop": 0},
                {"id": 450, "text": "one", "start": 0, "stop": 3},
                {"id": 451, "text": " two", "start": 3, "stop": 7},
            ],
        },
        log=(
            "INFO text_generation_launcher: Using attention flashinfer - Prefix caching 0\n"
            "INFO text_generation_router_v3: Setting max batch total tokens to 8192"
        ),
        effective={"max_model_len": 4096, "block_size": 1, "enable_prefix_caching": False},
        sample={
            "num_requests_running": 8,
            "num_requests_waiting": 5,
            "kv_cache_usage": 0.25,
            "kv_cache_used_tokens": 2048,
            "kv_cache_capacity_tokens": 8192,
            "generation_tokens_total": 1024,
        },
        resets=False,
        num_tokens=2,
    ),
    # A line of its own and pages as xllamacpp's server told them, with numbers of their own.
    "llamacpp": Life(
        pages={
            "/health": {"status": "ok"},
            "/slots": [
                {
                    "n_ctx": 256,
                    "is_processing": True,
                    "n_prompt_tokens": 64,
                    "n_prompt_tokens_processed": 29,
                    "next_token": [{"n_decoded": 35}],
                },
                {"n_ctx": 256, "is_processing": False},
            ],
            "/slots/0?action=erase": {},
            "/slots/1?action=erase": {},
            "/metrics": "llamacpp:requests_deferred 3\nllamacpp:tokens_predicted_total 33\n",
            "/tokenize": {"tokens": [5, 6, 7]},
        },
        log='labkit-effective {"n_parallel": 2, "n_ctx": 512, "n_batch": 256, "n_threads": 1, '
        '"cache_prompt": true, "cont_batching": true, "kv_unified": false}',
        effective={
            "max_num_seqs": 2,
            "max_model_len": 256,
            "max_num_batched_tokens": 256,
            "enable_prefix_caching": True,
            "static_batching": False,
        },
        sample={
            "num_requests_running": 1,
            "num_requests_waiting": 3,
            "kv_cache_usage": 0.125,
            "kv_cache_used_tokens": 64,
            "kv_cache_capacity_tokens": 512,
            "generation_tokens_total": 33,
        },
        resets=True,
        num_tokens=3,
    ),
}


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
