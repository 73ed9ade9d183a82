"""Its flags and keys are held against its published options; it is never run here."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lives import DATA

from labkit.engines import tensorrt_llm as trt
from labkit.engines.help_text import check_listed, find_unlisted, read_listed
from labkit.engines.scrape import Site, empty_sample
from labkit.errors import ParamsError
from labkit.params import EngineParams

OPTIONS = json.loads((DATA / "trtllm_options.json").read_text())
"""Names from the sources that the file tells, near version 1.3."""
PROMETHEUS = """# TYPE trtllm_num_requests_running gauge
trtllm_num_requests_running{model_name="m"} 2.0
# TYPE trtllm_num_requests_waiting gauge
trtllm_num_requests_waiting{model_name="m"} 1.0
# TYPE trtllm_kv_cache_utilization gauge
trtllm_kv_cache_utilization{model_name="m"} 0.5
# TYPE trtllm_kv_cache_max_blocks gauge
trtllm_kv_cache_max_blocks{model_name="m"} 100.0
# TYPE trtllm_kv_cache_used_blocks gauge
trtllm_kv_cache_used_blocks{model_name="m"} 25.0
# TYPE trtllm_kv_cache_tokens_per_block gauge
trtllm_kv_cache_tokens_per_block{model_name="m"} 32.0
# TYPE trtllm_kv_cache_reused_blocks_total counter
trtllm_kv_cache_reused_blocks_total{model_name="m"} 4.0
# TYPE trtllm_kv_cache_missed_blocks_total counter
trtllm_kv_cache_missed_blocks_total{model_name="m"} 36.0
# TYPE trtllm_generation_tokens_total counter
trtllm_generation_tokens_total{model_name="m"} 640.0
# TYPE trtllm_time_to_first_token_seconds histogram
trtllm_time_to_first_token_seconds_sum{model_name="m"} 4.5
trtllm_time_to_first_token_seconds_count{model_name="m"} 20.0
"""
"""By the names of its collector."""
OLD = """# TYPE e2e_request_latency_seconds histogram
e2e_request_latency_seconds_sum{engine_type="undefined"} 3.4878239994868636
# TYPE time_to_first_token_seconds histogram
time_to_first_token_seconds_sum{engine_type="undefined"} 0.5
time_to_first_token_seconds_count{engine_type="undefined"} 2.0
"""
"""As a public report of a version before the prefix shows it."""
HELP = """Usage: trtllm-serve serve [OPTIONS] MODEL

Options:
  --host TEXT                     Hostname; see also --not_a_flag.
  --port INTEGER                  Port of the server.
  --tensor_parallel_size, --tp_size INTEGER
                                  Tensor parallelism size.
  --config, --extra_llm_api_options TEXT
                                  Either --config or --other.
  -h, --help                      Show this message and exit.
"""


def make_params(**values: Any) -> EngineParams:
    return EngineParams.model_validate({"kind": "tensorrt_llm", "model": "org/name", **values})


def build(**values: Any) -> tuple[str, dict[str, Any]]:
    launch = trt.build_launch(make_params(**values), 8001, "trtllm-serve", Path("/run"))
    assert list(launch.files) == ["trtllm.yaml"]
    return " ".join(launch.command), yaml.safe_load(launch.files["trtllm.yaml"])


def list_keys(settings: dict[str, Any], above: str = "") -> list[str]:
    return [
        key
        for name, value in settings.items()
        for key in (
            list_keys(value, f"{above}{name}.") if isinstance(value, dict) else [f"{above}{name}"]
        )
    ]


EVERYTHING = {
    "max_num_seqs": 256,
    "max_num_batched_tokens": 8192,
    "max_model_len": 6144,
    "enable_chunked_prefill": True,
    "enable_prefix_caching": False,
    "gpu_memory_utilization": 0.85,
    "block_size": 32,
    "scheduling_policy": "guaranteed_no_evict",
}


def test_every_knob_is_said_once_as_a_flag_or_as_a_key() -> None:
    command, settings = build(**EVERYTHING)
    assert command == (
        "trtllm-serve serve org/name --host 127.0.0.1 --port 8001 "
        "--extra_llm_api_options /run/trtllm.yaml --max_batch_size 256 --max_num_tokens 8192 "
        "--max_seq_len 6144"
    )
    assert settings == {
        "enable_chunked_prefill": True,
        "enable_iter_perf_stats": True,
        "return_perf_metrics": True,
        "kv_cache_config": {
            "enable_block_reuse": False,
            "free_gpu_memory_fraction": 0.85,
            "tokens_per_block": 32,
        },
        "scheduler_config": {"capacity_scheduler_policy": "GUARANTEED_NO_EVICT"},
    }


def test_all_that_it_can_say_is_published() -> None:
    command, settings = build(**EVERYTHING)
    flags = {word for word in command.split() if word.startswith("--")}
    assert flags <= set(OPTIONS["flags"])
    assert set(list_keys(settings)) <= set(OPTIONS["keys"])
    assert {f"--{name}" for name in trt.FLAGS} <= set(OPTIONS["flags"])
    assert {*trt.POLICIES, "STATIC_BATCH"} == set(OPTIONS["capacity_scheduler_policy"])


def test_static_batching_is_a_policy() -> None:
    _, settings = build(static_batching=True)
    assert settings["scheduler_config"] == {"capacity_scheduler_policy": "STATIC_BATCH"}
    assert "scheduler_config" not in build(static_batching=False)[1]
    with pytest.raises(ParamsError, match="beside static_batching"):
        build(static_batching=True, scheduling_policy="MAX_UTILIZATION")


def test_extra_args_are_flags_where_it_has_one_and_keys_elsewhere() -> None:
    command, settings = build(
        extra_args={
            "tp_size": 2,
            "trust-remote-code": True,
            "--new_flag": "x",
            "print_iter_log": True,
            "kv_cache_config": {"host_cache_size": 1024, "dtype": "fp8"},
            "kv_cache_config.max_tokens": 4096,
            "batch-wait-timeout-ms": 50,
        },
        block_size=64,
    )
    assert command.endswith("trtllm.yaml --tp_size 2 --trust_remote_code --new_flag x")
    assert settings["kv_cache_config"] == {
        "tokens_per_block": 64,
        "host_cache_size": 1024,
        "dtype": "fp8",
        "max_tokens": 4096,
    }
    assert settings["print_iter_log"] is True
    assert settings["batch_wait_timeout_ms"] == 50
    assert set(list_keys(settings)) <= set(OPTIONS["keys"])
    assert build(extra_args={"trust_remote_code": False})[1]["trust_remote_code"] is False


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"scheduling_policy": "fcfs"}, "GUARANTEED_NO_EVICT or MAX_UTILIZATION.*'fcfs'"),
        ({"scheduling_policy": "STATIC_BATCH"}, "GUARANTEED_NO_EVICT or MAX_UTILIZATION"),
        (
            {
                "max_num_batched_tokens": 512,
                "max_model_len": 1024,
                "enable_chunked_prefill": False,
            },
            "longer prompts would be rejected",
        ),
        (
            {"gpu_memory_utilization": 0.8, "extra_args": {
                "kv_cache_config": {"free_gpu_memory_fraction": 0.9}}},
            "set engine.gpu_memory_utilization only",
        ),
        (
            {"extra_args": {"scheduler_config": {"capacity_scheduler_policy": "STATIC_BATCH"}}},
            "engine.static_batching",
        ),
        ({"extra_args": {"max_output_len": 2048}}, "engine.max_model_len"),
        ({"extra_args": {"enable_iter_perf_stats": False}}, "labkit sets it"),
        ({"extra_args": {"mine": {"api_key": "canary"}}}, "no secret.*mine.api_key"),
    ],
)  # fmt: skip
def test_what_it_can_not_do_is_told(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        build(**values)


def test_a_small_budget_is_no_matter_with_chunked_prefill() -> None:
    build(max_num_batched_tokens=512, max_model_len=1024)
    build(max_num_batched_tokens=512, max_model_len=1024, enable_chunked_prefill=True)


def test_the_name_that_it_serves(tmp_path: Path) -> None:
    assert trt.name_served(make_params()) == "org/name"
    assert trt.name_served(make_params(model=str(tmp_path))) == tmp_path.name


def test_where_the_gauges_tell_no_step_is_taken_away(pages) -> None:
    pages.pages |= {"/metrics": [{"numActiveRequests": 9}], "/prometheus/metrics": PROMETHEUS}
    assert trt.sample(Site(pages.root), {}) == empty_sample() | {
        "num_requests_running": 2,
        "num_requests_waiting": 1,
        "kv_cache_usage": 0.25,
        "kv_cache_used_tokens": 800,
        "kv_cache_capacity_tokens": 3200,
        "generation_tokens_total": 640,
        "prefix_cache_hits_tokens_total": 128,
        "prefix_cache_queries_tokens_total": 1280,
        "engine_ttft_s_sum": 4.5,
        "engine_ttft_count": 20,
    }
    assert [path for path, _ in pages.seen] == ["/prometheus/metrics"]


def test_with_neither_steps_nor_gauges_nothing_is_known(pages) -> None:
    pages.pages["/metrics"] = []
    assert trt.sample(Site(pages.root), {}) == empty_sample()
    pages.pages["/prometheus/metrics"] = ""
    told = {"kv_cache_capacity_tokens": 640}
    assert trt.sample(Site(pages.root), told) == empty_sample() | told


def test_an_old_version_has_the_same_names_without_the_prefix(pages) -> None:
    pages.pages |= {"/metrics": [], "/prometheus/metrics": OLD}
    found = trt.sample(Site(pages.root), {})
    assert (found["engine_ttft_s_sum"], found["engine_ttft_count"]) == (0.5, 2)


def test_flags_are_listed_by_the_lines_that_they_begin() -> None:
    listed = read_listed(HELP)
    assert listed == {"--host", "--port", "--tensor_parallel_size", "--tp_size", "--config",
                      "--extra_llm_api_options", "--help"}  # fmt: skip
    assert find_unlisted(["p", "--host", "h", "--tp_size=2"], listed) is None
    told = find_unlisted(["p", "--host", "h", "--new", "--x_y", "1"], listed)
    assert told == "--new, --x_y, which its --help does not list"


def test_the_installed_program_is_asked(tmp_path: Path) -> None:
    program = tmp_path / "trtllm-serve"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "serve --help" ] || exit 3\ncat <<END\n{HELP}END\n')
    program.chmod(0o755)
    good = trt.build_launch(make_params(), 0, str(program), tmp_path)
    bad = trt.build_launch(make_params(max_num_seqs=2), 0, str(program), tmp_path)
    told = "--max_batch_size, which its --help does not list"
    assert trt.check_launches(str(program), [good, bad]) == [None, told]
    assert (
        check_listed([str(program)], [good, bad]) == ["its --help did not answer: exit code 3"] * 2
    )
    assert "did not answer" in str(check_listed(["/no-such-program"], [good])[0])
