import os
import sys
from pathlib import Path

import pytest

from labkit.engines import explain_command, sglang
from labkit.engines.adapter import Launch
from labkit.engines.failures import find_cause
from labkit.errors import ParamsError
from labkit.params import EngineParams

PLAIN = (
    "sglang serve --model-path org/name --host 127.0.0.1 --port 0 --served-model-name name "
    "--enable-metrics --decode-log-interval 1 --load-snapshot-publish-interval 1"
)


def make_params(**values: object) -> EngineParams:
    return EngineParams.model_validate({"kind": "sglang", "model": "org/name", **values})


def test_every_knob_is_said_in_sglangs_words() -> None:
    command = explain_command(
        make_params(
            max_num_seqs=8,
            max_model_len=2048,
            enable_chunked_prefill=False,
            enable_prefix_caching=False,
            gpu_memory_utilization=0.5,
            block_size=16,
            scheduling_policy="lpm",
            static_batching=True,
            env={"SGLANG_USE_CPU_ENGINE": "1"},
            extra_args={"max_total_tokens": 4096, "disable-overlap-schedule": True},
        )
    )
    assert " ".join(command) == (
        f"SGLANG_USE_CPU_ENGINE=1 {PLAIN} --max-running-requests 8 --context-length 2048 "
        "--chunked-prefill-size -1 --disable-radix-cache --mem-fraction-static 0.5 "
        "--page-size 16 --schedule-policy lpm --min-free-slots-delay 8 --max-total-tokens 4096 "
        "--disable-overlap-schedule"
    )


def test_what_it_does_anyway_is_not_said() -> None:
    params = make_params(
        enable_chunked_prefill=True, enable_prefix_caching=True, static_batching=False
    )
    assert " ".join(explain_command(params)) == PLAIN


def test_a_chunk_of_ones_own_stands_beside_chunked_prefill() -> None:
    sized = make_params(enable_chunked_prefill=True, extra_args={"chunked-prefill-size": 64})
    assert explain_command(sized)[-2:] == ["--chunked-prefill-size", "64"]
    with pytest.raises(ParamsError, match=r"set engine\.enable_chunked_prefill only"):
        explain_command(
            make_params(enable_chunked_prefill=False, extra_args={"chunked_prefill_size": 64})
        )


@pytest.mark.parametrize("max_num_seqs", [None, 1])
def test_static_batching_needs_a_batch(max_num_seqs: int | None) -> None:
    with pytest.raises(ParamsError, match=r"engine\.max_num_seqs of 2 or more"):
        explain_command(make_params(static_batching=True, max_num_seqs=max_num_seqs))


@pytest.mark.parametrize(
    ("knob", "value", "nearest"),
    [
        ("max_num_batched_tokens", 512, "chunked-prefill-size.*max-prefill-tokens"),
        ("num_threads", 2, "SGLANG_CPU_OMP_THREADS_BIND"),
    ],
)
def test_knob_that_it_does_not_have(knob: str, value: int, nearest: str) -> None:
    with pytest.raises(ParamsError, match=nearest):
        explain_command(make_params(**{knob: value}))


@pytest.mark.parametrize(
    ("extra_args", "told"),
    [
        ({"--enable-radix-cache": True}, "never was a flag; set engine.enable_prefix_caching"),
        ({"max_num_batched_tokens": 512}, "chunked-prefill-size"),
        ({"gpu-memory-utilization": 0.5}, "engine.gpu_memory_utilization"),
        ({"enable-metrics": False}, "labkit sets it"),
        ({"decode-log-interval": 40}, "labkit sets it"),
        ({"model-path": "x"}, "labkit sets it"),
        ({"admin-api-key": "canary"}, "no secret"),
    ],
)
def test_old_flags_and_labkits_own_are_answered(extra_args: dict, told: str) -> None:
    with pytest.raises(ParamsError, match=told) as error:
        explain_command(make_params(extra_args=extra_args))
    assert "canary" not in str(error.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(ParamsError, match=r"engine\.model for SGLang"):
        explain_command(make_params(model=None))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sglang serve: error: unrecognized arguments: --enable-radix-cache", "unknown_flag"),
        ("sglang serve: error: argument --schedule-policy: invalid choice: 'x'", "unknown_flag"),
        ("AssertionError: chunked_prefill_size must be divisible by page_size", "bad_combination"),
        ("ValueError: Warning: User-specified context_length (9) is greater than the derived "
         "context_length (8)", "context_too_long"),
        ("OSError: Repo id must use alphanumeric chars, '-', '_' or '.'.", "model_not_found"),
        ("ValueError: Loaded weights leave no GPU memory for the KV cache under "
         "--mem-fraction-static=0.1. Raise --mem-fraction-static above 0.2", "kv_too_small"),
        ("in event_loop_overlap\ntorch.OutOfMemoryError: CUDA out of memory.", "oom_run"),
        ("in alloc_memory_pool\ntorch.OutOfMemoryError: CUDA out of memory.", "oom_profile"),
        ("in load_model\ntorch.OutOfMemoryError: CUDA out of memory.", "oom_load"),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", "oom_profile"),
        ("[Errno 98] error while attempting to bind on address", "port_in_use"),
    ],
)  # fmt: skip
def test_causes_are_read_from_the_log(line: str, kind: str) -> None:
    cause = find_cause(f"before\n{line}\nafter", sglang.FAILURES)
    assert cause is not None
    assert cause.kind == kind


def test_its_parser_runs_once_per_environment(tmp_path: Path, monkeypatch) -> None:
    parser = tmp_path / "parser.py"
    parser.write_text(
        "import json, os, sys\n"
        "told = [f\"{os.environ['SHADE']} {' '.join(one)}\" for one in json.load(sys.stdin)]\n"
        "print('labkit-told ' + json.dumps(told))\n"
    )
    program = tmp_path / "sglang"
    program.write_text(f"#!{sys.executable}\n")
    monkeypatch.setattr(sglang, "PROBE", parser)
    launches = [
        Launch(["sglang", "serve", flag], {"SHADE": shade})
        for flag, shade in (("--a", "red"), ("--b", "blue"), ("--c", "red"))
    ]
    assert sglang.check_launches(str(program), launches) == ["red --a", "blue --b", "red --c"]
    assert "SHADE" not in os.environ


def test_a_parser_that_does_not_run_is_told(tmp_path: Path, monkeypatch) -> None:
    parser = tmp_path / "parser.py"
    parser.write_text("import nowhere_to_be_found\n")
    program = tmp_path / "sglang"
    program.write_text(f"#!{sys.executable}\n")
    monkeypatch.setattr(sglang, "PROBE", parser)
    (told,) = sglang.check_launches(str(program), [Launch(["sglang", "serve"], {})])
    assert "did not run" in str(told)
    assert "nowhere_to_be_found" in str(told)
