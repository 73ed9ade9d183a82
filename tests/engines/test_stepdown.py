from typing import Any

import pytest

from labkit.engines.stepdown import step_down
from labkit.params import EngineParams


def make_params(**values: object) -> EngineParams:
    return EngineParams.model_validate({"kind": "vllm", "model": "m", **values})


@pytest.mark.parametrize(
    ("values", "kind", "step"),
    [
        ({"max_num_seqs": 64}, "oom_profile", ("max_num_seqs", 64, 16)),
        ({}, "oom_run", ("max_num_seqs", None, 16)),
        ({"max_num_seqs": 16}, "oom_load", ("max_num_batched_tokens", None, 4096)),
        (
            {"max_num_seqs": 8, "max_num_batched_tokens": 8192},
            "oom_run",
            ("max_num_batched_tokens", 8192, 4096),
        ),
        (
            {"max_num_seqs": 8, "max_num_batched_tokens": 2048},
            "oom_run",
            ("gpu_memory_utilization", None, 0.85),
        ),
        (
            {"max_num_seqs": 8, "enable_chunked_prefill": False, "max_model_len": 8192},
            "oom_run",
            ("gpu_memory_utilization", None, 0.85),
        ),
    ],
)
def test_one_step(values: dict[str, Any], kind: str, step: tuple[Any, ...]) -> None:
    params = make_params(**values)
    found = step_down(params, kind)
    assert found is not None
    smaller, told = found
    knob, before, after = step
    assert told == {"knob": knob, "from": before, "to": after, "because": kind}
    assert smaller == params.model_copy(update={knob: after})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"max_num_seqs": 64}, "unknown_flag"),
        ({"max_num_seqs": 64}, None),
        ({"max_num_seqs": 8, "max_num_batched_tokens": 512}, "kv_too_small"),
        (
            {"max_num_seqs": 8, "max_num_batched_tokens": 512, "gpu_memory_utilization": 0.72},
            "oom_run",
        ),
    ],
)
def test_no_step_is_left(values: dict[str, Any], kind: str | None) -> None:
    assert step_down(make_params(**values), kind) is None


def test_what_an_engine_does_not_have_is_not_moved() -> None:
    params = make_params(max_num_seqs=8)
    absent = ("max_num_batched_tokens", "gpu_memory_utilization")
    assert step_down(params, "oom_run", absent) is None
