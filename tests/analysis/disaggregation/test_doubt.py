"""When the model may recommend anything."""

from dataclasses import replace

import pytest
from analysis.disaggregation.runs import make_run

from labkit.analysis.disaggregation.check import Compared
from labkit.analysis.disaggregation.doubt import doubt_model
from labkit.analysis.disaggregation.gather import gather
from labkit.analysis.disaggregation.plan import Plan, Range, make_plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    inputs = gather(make_run()).inputs
    assert inputs is not None
    return make_plan(inputs)


def compare(name: str, measured: float, low: float = 0.9, high: float = 1.1) -> Compared:
    return Compared("p", name, 2.0, 80, Range(1.0, low, high), measured)


GOOD = [compare("ttft_s", 1.2), compare("tpot_s", 0.9)]


def test_both_latencies_within_bounds_carry_it(plan: Plan) -> None:
    assert doubt_model(plan, GOOD) == ""


@pytest.mark.parametrize(
    ("compared", "reason"),
    [
        ([], "nothing to check it by"),
        (GOOD[:1], "nothing to check it by"),
        ([GOOD[0], compare("tpot_s", 1.0, low=0.2, high=1.4)], "nothing to check it by"),
        ([*GOOD, compare("tpot_s", 1.4)], "at 2 requests/s it predicts a TPOT of 1 s, and 1.4 s"),
        ([compare("ttft_s", 9.0, low=0.2, high=1.4)], "does not describe this engine"),
    ],
)
def test_what_leaves_it_in_doubt(plan: Plan, compared: list[Compared], reason: str) -> None:
    assert reason in doubt_model(plan, compared)


def test_fits_that_most_draws_make_no_machine_of(plan: Plan) -> None:
    assert "errors of the fits" in doubt_model(replace(plan, kept_draws=0.4), GOOD)
