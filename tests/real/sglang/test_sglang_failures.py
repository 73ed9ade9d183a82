"""What real SGLang for CPU refuses, and how labkit tells why it failed: `make test-sglang`."""

from pathlib import Path

import pytest
from real.sglang.running import NEEDED, make_params

from labkit.engines import check_engines, open_engine
from labkit.errors import EngineError, ParamsError

pytestmark = NEEDED


@pytest.mark.parametrize(
    ("extra_args", "knobs", "told"),
    [
        ({"swap-space": 4}, {}, "unrecognized arguments: --swap-space 4"),
        ({"chunked-prefill-size": 64}, {"block_size": 48}, "must be divisible by page_size"),
        ({}, {"model": "/nowhere/at/all"}, "Repo id must"),
        ({}, {"max_model_len": 99999}, "greater than the derived context_length"),
        ({}, {"scheduling_policy": "first"}, "invalid choice: 'first'"),
    ],
)
def test_its_own_parser_refuses_before_a_launch(extra_args: dict, knobs: dict, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        check_engines([make_params(extra_args, **knobs)])


@pytest.mark.parametrize(
    ("extra_args", "knobs", "kind"),
    [
        ({"swap-space": 4}, {}, "unknown_flag"),
        ({"chunked-prefill-size": 64}, {"block_size": 48}, "bad_combination"),
        ({}, {"model": "/nowhere/at/all"}, "model_not_found"),
    ],
)
def test_a_start_that_fails_is_classified(
    extra_args: dict, knobs: dict, kind: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(EngineError) as error,
        open_engine(make_params(extra_args, **knobs), folder=tmp_path),
    ):
        pass
    assert error.value.kind == kind, str(error.value)
