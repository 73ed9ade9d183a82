"""Its flags and variables are held against its published options; it is never run here."""

import json
from pathlib import Path
from typing import Any

import pytest
from lives import DATA

from labkit.engines import explain_command, tgi
from labkit.engines.help_text import find_unlisted, read_listed
from labkit.engines.scrape import Site, empty_sample
from labkit.errors import ParamsError
from labkit.params import EngineParams

OPTIONS = json.loads((DATA / "tgi_options.json").read_text())
METRICS = """# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 2
# TYPE tgi_queue_size gauge
tgi_queue_size 3
# TYPE tgi_batch_current_max_tokens gauge
tgi_batch_current_max_tokens 1024
# TYPE tgi_request_input_length histogram
tgi_request_input_length_bucket{le="+Inf"} 4
tgi_request_input_length_sum 512
tgi_request_input_length_count 4
# TYPE tgi_request_queue_duration histogram
tgi_request_queue_duration_bucket{le="+Inf"} 4
tgi_request_queue_duration_sum 0.5
tgi_request_queue_duration_count 4
# TYPE tgi_request_count counter
tgi_request_count 4
"""
"""By the names of its documentation, as its exporter writes them."""
HELP = """Usage: text-generation-launcher [OPTIONS]

Options:
      --model-id <MODEL_ID>
          The name of the model to load. Can be a name as listed on --hub

          [env: MODEL_ID=]

  -p, --port <PORT>
          The port to listen on

  -h, --help
          Print help
"""
EVERYTHING = {
    "max_num_seqs": 256,
    "max_num_batched_tokens": 8192,
    "max_model_len": 6144,
    "enable_chunked_prefill": True,
    "enable_prefix_caching": False,
    "gpu_memory_utilization": 0.9,
}


def make_params(**values: Any) -> EngineParams:
    return EngineParams.model_validate({"kind": "tgi", "model": "org/name", **values})


def test_every_knob_is_said_in_its_words() -> None:
    command = explain_command(
        make_params(
            **EVERYTHING,
            port=8001,
            env={"ATTENTION": "paged"},
            extra_args={"max_input_tokens": 4096, "trust-remote-code": True},
        )
    )
    assert " ".join(command) == (
        "PREFILL_CHUNKING=1 PREFIX_CACHING=0 ATTENTION=paged text-generation-launcher "
        "--model-id org/name --hostname 127.0.0.1 --port 8001 --shard-uds-path "
        "/tmp/labkit-tgi-8001 --max-batch-size 256 --max-batch-prefill-tokens 8192 "
        "--max-total-tokens 6144 --cuda-memory-fraction 0.9 "
        "--max-input-tokens 4096 --trust-remote-code"
    )


def test_all_that_it_can_say_is_published() -> None:
    launch = tgi.build_launch(make_params(**EVERYTHING), 0, "tgi", Path())
    assert {word for word in launch.command if word.startswith("--")} <= set(OPTIONS["flags"])
    assert set(launch.env) <= set(OPTIONS["variables"])
    for small, _, large in tgi.RULES:
        assert {f"--{small}", f"--{large}"} <= set(OPTIONS["flags"])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"max_model_len": 4096, "extra_args": {"max-input-tokens": 4096}},
            r"max-input-tokens < max-total-tokens.*4096 and 4096; change "
            r"engine\.extra_args\.max-input-tokens or engine\.max_model_len",
        ),
        (
            {"max_model_len": 4097, "extra_args": {"max_batch_total_tokens": 4096}},
            "max-total-tokens <= max-batch-total-tokens",
        ),
        (
            {"max_num_batched_tokens": 4097, "extra_args": {"max_batch_total_tokens": 4096}},
            "max-batch-prefill-tokens <= max-batch-total-tokens",
        ),
        (
            {
                "max_num_batched_tokens": 512,
                "enable_chunked_prefill": False,
                "extra_args": {"max-input-tokens": 513},
            },
            "max-input-tokens <= max-batch-prefill-tokens",
        ),
        ({"static_batching": True}, r"nearest is load\.mode static_batch"),
        ({"block_size": 16}, "ATTENTION in engine.env"),
        (
            {"enable_prefix_caching": True, "env": {"PREFIX_CACHING": "0"}},
            "no PREFIX_CACHING in engine.env",
        ),
        ({"extra_args": {"ngrok-authtoken": "canary"}}, "beyond this machine"),
    ],
)
def test_what_it_can_not_do_is_told(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ParamsError, match=told) as error:
        explain_command(make_params(**values))
    assert "canary" not in str(error.value)


def test_sizes_that_fit_are_taken() -> None:
    explain_command(make_params(max_model_len=4096, extra_args={"max-input-tokens": 4095}))
    explain_command(make_params(max_num_batched_tokens=512, extra_args={"max-input-tokens": 513}))


def test_metrics(pages) -> None:
    pages.pages["/metrics"] = METRICS
    found = tgi.sample(Site(pages.root), {"kv_cache_capacity_tokens": 4096})
    assert found == empty_sample() | {
        "num_requests_running": 2,
        "num_requests_waiting": 3,
        "kv_cache_usage": 0.25,
        "kv_cache_used_tokens": 1024,
        "kv_cache_capacity_tokens": 4096,
        "prompt_tokens_total": 512,
        "engine_queue_time_s_sum": 0.5,
        "engine_queue_time_count": 4,
    }
    assert tgi.sample(Site(pages.root), {})["kv_cache_usage"] is None


def test_the_start_is_read_from_its_log(pages) -> None:
    pages.pages["/info"] = {"max_total_tokens": 2048}
    site = Site(pages.root)
    log = "Using attention flashdecoding - Prefix caching true\n"
    assert tgi.read_effective(site, tgi.learn(site, log)) == {
        "max_model_len": 2048,
        "block_size": 256,
        "enable_prefix_caching": True,
    }
    assert tgi.read_effective(site, tgi.learn(site, "")) == {"max_model_len": 2048}


def test_the_installed_program_is_asked(tmp_path: Path) -> None:
    assert read_listed(HELP) == {"--model-id", "--port", "--help"}
    program = tmp_path / "text-generation-launcher"
    program.write_text(f'#!/bin/sh\n[ "$1" = "--help" ] || exit 3\ncat <<END\n{HELP}END\n')
    program.chmod(0o755)
    launch = tgi.build_launch(make_params(), 0, str(program), tmp_path)
    assert tgi.check_launches(str(program), [launch]) == [
        "--hostname, --shard-uds-path, which its --help does not list"
    ]
    assert find_unlisted(launch.command, frozenset(OPTIONS["flags"])) is None
