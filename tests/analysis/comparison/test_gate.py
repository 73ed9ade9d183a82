"""Thresholds: read strictly, failed only beyond doubt, held only within it."""

from typing import Any

import numpy as np
import pytest
from comparison_rows import make_row, make_summary

from labkit.analysis.comparison.gate import (
    Outcome,
    hold_against,
    judge_gate,
    read_threshold,
    read_thresholds,
)
from labkit.analysis.comparison.lines import compare_places
from labkit.analysis.comparison.places import join
from labkit.errors import ParamsError

OUTPUT = "output_throughput_tokens_per_s"


def hold(gates: dict[str, str], name: str, a: list[float], b: list[float]) -> list[Outcome]:
    rows: list[list[dict[str, Any]]] = [
        [make_row(repeat=i, **{name: value}) for i, value in enumerate(own)] for own in (a, b)
    ]
    lines, omitted = compare_places(join(make_summary(*rows[0]), make_summary(*rows[1])))
    return hold_against(read_thresholds(gates), lines, omitted)


def test_it_fails_beyond_doubt_and_holds_within() -> None:
    a = [100.0, 101.0, 99.0, 100.5]
    for factor, state in ((0.80, "failed"), (1.0, "held"), (1.2, "held"), (0.95, "can't tell")):
        (one,) = hold({OUTPUT: "-5%"}, OUTPUT, a, [factor * value for value in a])
        assert one.state == state, factor
    for factor, state in ((1.30, "failed"), (1.0, "held"), (0.8, "held"), (1.10, "can't tell")):
        (one,) = hold({"ttft_s.p95": "+10%"}, "ttft_s_p95", a, [factor * value for value in a])
        assert one.state == state, factor


def test_worse_but_by_less_than_the_threshold_holds() -> None:
    a = [100.0, 100.1, 99.9, 100.0]
    (one,) = hold({OUTPUT: "-5%"}, OUTPUT, a, [0.98 * value for value in a])
    assert one.state == "held"
    assert one.told.startswith("-2 % (95 % interval")


def test_one_repeat_cannot_be_told() -> None:
    (one,) = hold({OUTPUT: "-5%"}, OUTPUT, [100.0], [10.0])
    assert one.state == "can't tell"
    assert "too few repeats" in one.told


def test_suspect_repeats_decide_nothing() -> None:
    near = list(enumerate((100.0, 101.0, 99.0, 100.5)))
    for factor in (0.5, 1.0):
        rows = [
            [make_row(repeat=i, validity=mark, **{OUTPUT: by * value}) for i, value in near]
            for by, mark in ((1.0, "VALID"), (factor, "SUSPECT"))
        ]
        lines, omitted = compare_places(join(make_summary(*rows[0]), make_summary(*rows[1])))
        (one,) = hold_against(read_thresholds({OUTPUT: "-5%"}), lines, omitted)
        assert one.state == "can't tell"
        assert one.told.endswith("; repeats are SUSPECT")


def test_what_was_not_measured_cannot_be_told() -> None:
    (one,) = hold({"goodput_per_s": "-5%"}, OUTPUT, [1.0, 2.0], [1.0, 2.0])
    assert one.state == "can't tell"
    assert judge_gate([one]) == "can't tell"


def test_the_gate_as_a_whole() -> None:
    told = [
        Outcome(read_threshold(OUTPUT, "-5%"), "", state, "")
        for state in ("held", "can't tell", "failed")
    ]  # type: ignore[arg-type]
    assert judge_gate(told) == "failed"
    assert judge_gate(told[:2]) == "can't tell"
    assert judge_gate(told[:1]) == "held"
    assert judge_gate([]) == "can't tell"


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("tft_s.p95", "+10%", "did you mean ttft_s.p95"),
        ("ttft_s.p95", "10%", "with a sign and a percentage"),
        ("ttft_s.p95", "-10%", "such as [+]10%"),
        (OUTPUT, "+5%", "such as -5%"),
        (OUTPUT, "-100%", "such as -5%"),
    ],
)
def test_a_wrong_threshold_is_told(field: str, text: str, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        read_threshold(field, text)


@pytest.mark.parametrize(("true", "state"), [(0.95, "failed"), (0.95, "held")])
def test_at_the_threshold_it_errs_in_five_of_a_hundred(true: float, state: str) -> None:
    """A true change of just the threshold: 5 % fail and 5 % hold, the rest can't be told."""
    rng = np.random.default_rng(17)
    erred = 0
    for _ in range(1000):
        a, b = np.exp(rng.normal(0, 0.03, (2, 5)))
        (one,) = hold({OUTPUT: "-5%"}, OUTPUT, a.tolist(), (true * b).tolist())
        erred += one.state == state
    assert 0.03 <= erred / 1000 <= 0.07
