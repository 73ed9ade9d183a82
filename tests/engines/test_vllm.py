import json
from pathlib import Path

import pytest

from labkit.engines import explain_command, vllm
from labkit.engines.scrape import Site, empty_sample
from labkit.errors import ParamsError
from labkit.params import EngineParams

INFO = json.loads((Path(__file__).parent / "data" / "vllm_server_info.json").read_text())
"""What vLLM 0.32 for CPU told after --max-model-len 1024 --max-num-seqs 4 and a budget of 256."""
VLLM = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 5.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="100"} 1.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 3.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 640.0
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 64.0
"""


def make_params(**values: object) -> EngineParams:
    return EngineParams.model_validate({"kind": "vllm", "model": "org/name", **values})


def test_every_knob_is_said_in_vllms_words() -> None:
    command = explain_command(
        make_params(
            max_num_seqs=8,
            max_num_batched_tokens=512,
            max_model_len=2048,
            enable_chunked_prefill=False,
            enable_prefix_caching=True,
            gpu_memory_utilization=0.5,
            block_size=32,
            scheduling_policy="fcfs",
            port=8001,
            env={"CUDA_VISIBLE_DEVICES": "1"},
            extra_args={"enforce_eager": True, "kv-cache-memory-bytes": 1000},
        )
    )
    assert " ".join(command) == (
        "VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=1 vllm serve org/name --host 127.0.0.1 "
        "--port 8001 --served-model-name name --max-num-seqs 8 --max-num-batched-tokens 512 "
        "--max-model-len 2048 --no-enable-chunked-prefill --enable-prefix-caching "
        "--gpu-memory-utilization 0.5 --block-size 32 --scheduling-policy fcfs --enforce-eager "
        "--kv-cache-memory-bytes 1000"
    )


def test_static_batching_is_a_scheduler_beside_the_log_and_async_is_off_in_both_arms() -> None:
    static = explain_command(make_params(static_batching=True))
    assert static[-3:] == ["--no-async-scheduling", "--scheduler-cls", vllm.SCHEDULER]
    assert any(word.startswith("PYTHONPATH=") for word in static)
    continuous = explain_command(make_params(static_batching=False))
    assert continuous[-1] == "--no-async-scheduling"
    launch = vllm.build_launch(make_params(static_batching=True), 0, "vllm", Path("/x"))
    assert launch.env["PYTHONPATH"] == "/x"
    compile(launch.files["labkit_static.py"], "labkit_static.py", "exec")


@pytest.mark.parametrize(
    ("extra_args", "told"),
    [
        ({"--swap-space": 4}, "swap-space: it is gone.*kv-offloading-size"),
        ({"swap_space": 4}, "kv-offloading-size"),
        ({"disable-log-requests": True}, "leave it out"),
        ({"scheduler_policy": "fcfs"}, "engine.scheduling_policy"),
        ({"enable-radix-cache": True}, "engine.enable_prefix_caching"),
        ({"enable_chunked_context": True}, "engine.enable_chunked_prefill"),
        ({"host": "0.0.0.0"}, "labkit sets it"),
        ({"api-key": "canary"}, "no secret"),
    ],
)
def test_old_flags_and_labkits_own_are_answered(extra_args: dict, told: str) -> None:
    with pytest.raises(ParamsError, match=told) as error:
        explain_command(make_params(extra_args=extra_args))
    assert "canary" not in str(error.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(ParamsError, match=r"engine\.model for vLLM"):
        explain_command(make_params(model=None))


def test_metrics(pages) -> None:
    pages.pages["/metrics"] = VLLM
    assert vllm.sample(Site(pages.root), {}) == empty_sample() | {
        "num_requests_running": 2,
        "num_requests_waiting": 5,
        "kv_cache_usage": 0.25,
        "kv_cache_used_tokens": 400,
        "kv_cache_capacity_tokens": 1600,
        "num_preemptions": 3,
        "prefix_cache_queries_tokens_total": 640,
        "prefix_cache_hits_tokens_total": 64,
    }


def test_the_configuration_in_force_is_read_back(pages) -> None:
    pages.pages["/server_info?config_format=json"] = INFO
    site = Site(pages.root)
    assert vllm.read_effective(site, vllm.learn(site, "")) == {
        "max_num_seqs": 4,
        "max_num_batched_tokens": 256,
        "max_model_len": 1024,
        "enable_chunked_prefill": True,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.92,
        "block_size": 128,
        "scheduling_policy": "fcfs",
        "static_batching": False,
        "async_scheduling": False,
    }
