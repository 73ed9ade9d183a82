"""What the rows carry, and why they may not."""

from typing import Any

import pytest
from analysis.disaggregation.runs import PROMPTS, make_prefill, make_run

from labkit.analysis.disaggregation.gather import gather


@pytest.fixture
def told() -> dict[str, Any]:
    return make_run()


def test_the_engine_that_was_made_up_is_found_again(told: dict[str, Any]) -> None:
    found = gather(told)
    assert found.reason == ""
    inputs = found.inputs
    assert inputs is not None
    assert inputs.prefill.slope == pytest.approx(0.0015, rel=0.02)
    assert inputs.step.slope == pytest.approx(0.002, rel=0.05)
    assert inputs.step.intercept == pytest.approx(0.010, rel=0.05)
    assert sorted(set(inputs.prompt_tokens)) == PROMPTS
    assert (inputs.completion_tokens, inputs.max_num_seqs, inputs.quantile) == (32.0, 8, 0.9)
    assert inputs.max_num_batched_tokens == 512
    assert inputs.kv_bytes_per_token == 23040
    assert [one.rate_per_s for one in found.points] == [1.0, 2.0]
    assert len(found.rows) == 11


def change(told: dict[str, Any], series: str, **changes: Any) -> None:
    for row in told["points"]:
        if row["series"] == series:
            row |= changes


@pytest.mark.parametrize(
    ("series", "changes", "reason"),
    [
        ("together", {"validity": "INVALID"}, "no valid point of the series together"),
        ("prefill", {"prefix_cache_hit_rate": 0.5}, "came in part from the prefix cache"),
        ("prefill", {"ttft_s": {"mean": 0.1, "n": 12}}, "a longer prompt took no longer"),
        ("decode", {"step_time": None}, "at least two numbers of running streams"),
        ("together", {"prompt_tokens": {"quantiles": [300.0]}}, "measured up to 256; measure"),
        ("together", {"completion_tokens": {"mean": 1.0}}, "lengths of prompts and answers"),
    ],
)
def test_what_rows_do_not_carry_has_a_reason(
    told: dict[str, Any], series: str, changes: dict[str, Any], reason: str
) -> None:
    change(told, series, **changes)
    found = gather(told)
    assert found.inputs is None
    assert reason in found.reason


def test_a_curve_is_no_line(told: dict[str, Any]) -> None:
    told["points"] = [row for row in told["points"] if row["series"] != "prefill"]
    told["points"] += [make_prefill(tokens, 1e-5 * tokens**2) for tokens in (32, 64, 128, 256)]
    reason = gather(told).reason
    assert "is no straight line" in reason or "took no longer" in reason


def test_two_lengths_are_too_few(told: dict[str, Any]) -> None:
    own = [row for row in told["points"] if row["series"] == "prefill"]
    told["points"] = [row for row in told["points"] if row not in own[2:]]
    assert "at least 3 lengths of prompt, found 2" in gather(told).reason


def test_both_limits_are_needed(told: dict[str, Any]) -> None:
    told["run"]["slo"] = {"ttft_s": 1.0, "tpot_s": None}
    assert "both slo.ttft_s and slo.tpot_s" in gather(told).reason


def test_without_chunks_a_prompt_is_one_step(told: dict[str, Any]) -> None:
    change(told, "together", effective={"max_num_seqs": 8, "enable_chunked_prefill": False})
    inputs = gather(told).inputs
    assert inputs is not None
    assert inputs.max_num_batched_tokens is None
