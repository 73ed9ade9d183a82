"""What each engine says in a life of it: pages, log, and what labkit has to make of them.

A new engine needs a row in `LIVES`; the contract suite does the rest. Where the numbers come from
is said at each.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.params import EngineParams

DATA = Path(__file__).parent / "engines" / "data"
MODELS = {"llamacpp": str(DATA / "tiny.gguf")}
"""Kind -> a model that it takes, where a name of the hub is none; llama.cpp ships one, too."""


def make_params(kind: str, **values: Any) -> EngineParams:
    """Return params of an engine with a model that it takes, and the values given."""
    model = MODELS.get(kind, "org/name")
    return EngineParams.model_validate({"kind": kind, "model": model, **values})


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
