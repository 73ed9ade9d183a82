"""A winner within the SLO needs counts whose intervals part."""

import pytest
from analysis.facts import row

from labkit.analysis.goodput import goodput
from labkit.analysis.pool import groups
from labkit.analysis.statistics import wilson_interval

SLO = {"ttft_s": 2.0}


def serve(*met, n=16):
    """Values 1, 2, ... of which so many of n requests met the SLO in 10 s."""
    rows = [
        row(
            value,
            goodput_per_s=hits / 10,
            num_slo_met=hits,
            num_requests=n,
            slo_attainment=hits / n,
            duration_s=10.0,
            slo=SLO,
        )
        for value, hits in enumerate(met, 1)
    ]
    return goodput(groups({"points": rows}, "engine.max_num_seqs"))


def test_wilson():
    # z = 1.96: 8 of 16 lie 1.96 / 1.2401 * sqrt(0.25 / 16 + 3.8416 / 1024) = 0.220 about a half
    half = wilson_interval(8, 16)
    assert (half.low, half.high) == (pytest.approx(0.280, abs=5e-4), pytest.approx(0.720, abs=5e-4))
    # none of 16: from 0 to 0.2401 / 1.2401
    none = wilson_interval(0, 16)
    assert (none.low, none.high) == (pytest.approx(0.0), pytest.approx(0.1936, abs=5e-4))
    assert wilson_interval(16, 16).high == pytest.approx(1.0)
    assert wilson_interval(0, 0) is None


def test_one_request_of_16_makes_no_winner():
    told = serve(1, 2)[0]
    assert (told.title, told.kind) == ("Goodput: no resolved effect of max_num_seqs", "unknown")
    # 2 of 16: centre 0.24505 / 1.2401 = 0.1976 ... 0.0350 to 0.3602
    assert told.text == (
        "max_num_seqs 2 serves 0.2 requests/s within the SLO (TTFT up to 2 s), 12.5 % of all "
        "requests (2 of 16, 95 % interval 3.5 % to 36 %). "
        "Not resolved: the other values can't be told apart. [VALID]"
    )


def test_counts_that_part_make_a_winner():
    # 1 of 16 reaches to 28 %, 15 of 16 begins at 72 %
    assert serve(1, 15)[0].title == "max_num_seqs 2 best meets the SLO"
    assert serve(1, 14, 15)[0].text.endswith("2 can't be told apart from it. [VALID]")
