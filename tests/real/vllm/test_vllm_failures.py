"""What real vLLM for CPU refuses, and how labkit tells why it failed: `make test-vllm`."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from real.vllm.running import make_params

from labkit.engines import Engine, check_engines, open_engine
from labkit.errors import EngineError, ParamsError

pytestmark = pytest.mark.real


def watch(engine: Engine) -> None:
    """Look after the engine for up to 10 s, as a load does."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        engine.check()
        time.sleep(0.02)


def test_death_is_told_within_two_seconds(tmp_path: Path) -> None:
    with open_engine(make_params(), folder=tmp_path) as engine:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        began_at_s = time.monotonic()
        with pytest.raises(EngineError, match="exit code 137"):
            watch(engine)
        assert time.monotonic() - began_at_s < 2


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"extra_args": {"foo-bar": 1}}, "unrecognized arguments: --foo-bar"),
        ({"max_num_seqs": 8, "max_num_batched_tokens": 4}, "greater than or equal to max_num_seqs"),
        (
            {"enable_chunked_prefill": False, "max_num_batched_tokens": 512},
            r"\(512\) is smaller than max_model_len \(1024\)",
        ),
        ({"max_model_len": 100_000}, r"\(100000\) is greater than the derived"),
        ({"block_size": 16}, "multiple of 32 on a CPU"),
        ({"extra_args": {"max-num-active-seqs": 9}}, "cannot be greater than max_num_seqs"),
        ({"scheduling_policy": "lifo"}, "invalid choice: 'lifo'"),
        ({"model": "/no/such/folder"}, "Repo id must be in the form"),
    ],
)
def test_its_own_parser_refuses_before_a_launch(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        check_engines([make_params(**values)])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"extra_args": {"foo-bar": 1}}, "unknown_flag"),
        ({"max_num_seqs": 8, "max_num_batched_tokens": 4}, "bad_combination"),
        ({"max_model_len": 100_000}, "context_too_long"),
        ({"block_size": 16}, "bad_combination"),
        ({"model": "/no/such/folder"}, "model_not_found"),
        (
            {"max_model_len": 8192, "extra_args": {"kv-cache-memory-bytes": 60_000_000}},
            "kv_too_small",
        ),
    ],
)  # fmt: skip
def test_a_start_that_fails_is_classified(
    tmp_path: Path, values: dict[str, Any], kind: str
) -> None:
    with (
        pytest.raises(EngineError) as caught,
        open_engine(make_params(**values), folder=tmp_path),
    ):
        pass
    assert caught.value.kind == kind, caught.value
