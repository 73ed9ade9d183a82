"""Equal settings in two sweeps: what they differ by is noise, and limits what is resolved."""

import pytest
from analysis.facts import latency, row

from labkit.analysis.findings import conclude
from labkit.analysis.pool import contrast, groups
from labkit.analysis.twins import find_spread, find_twins

RATE = "output_throughput_tokens_per_s"
BATCHED = {"variable": "engine.max_num_batched_tokens"}


def asked(seqs, tokens):
    return {"asked": {"max_num_seqs": seqs, "max_num_batched_tokens": tokens}, "workload": {}}


def run(twin_rate, **changes):
    """Two sweeps about (4, 512): 1, 4, 8 at once and 32, 512 tokens; 4 and 512 are twins."""
    rows = [
        row(1, 10.0, **asked(1, 512)),
        row(4, 20.0, **asked(4, 512)),
        row(8, 24.0, **asked(8, 512)),
        row(32, 19.0, **asked(4, 32), **BATCHED),
        row(512, twin_rate, **asked(4, 512), **BATCHED, **changes),
    ]
    return {"points": rows}


def test_twins_are_found_across_sweeps_and_not_among_repeats():
    rows = run(12.0)["points"]
    assert [[one["value"] for one in own] for own in find_twins(rows)] == [[4, 512]]
    assert find_twins([row(4, 20.0, repeat=n, **asked(4, 512)) for n in (0, 1)]) == []
    spread = find_spread(find_twins(rows), RATE)
    assert spread is not None
    assert spread.share == pytest.approx(0.4)  # (20 - 12) / 20
    assert (spread.low["value"], spread.high["value"]) == (512, 4)
    assert find_spread(find_twins(rows), "goodput_per_s") is None


def test_an_invalid_point_is_no_twin():
    assert find_twins(run(12.0, validity="INVALID")["points"]) == []


def test_a_difference_below_the_noise_is_not_resolved():
    one, four, eight = groups(run(12.0), "engine.max_num_seqs")
    assert not contrast(four, eight, RATE).resolved  # 4 / 24 = 17 %, over 10 % and below 40 %
    assert contrast(one, eight, RATE).resolved  # 14 / 24 = 58 %
    _, four, eight = groups(run(20.0), "engine.max_num_seqs")
    assert contrast(four, eight, RATE).resolved


def test_the_card_tells_the_noise_and_who_caused_it():
    busy = ["other processes used 1.4 of 2 cores"]
    noisy = run(12.0, ttft_s=latency(1.5), validity="SUSPECT", validity_reasons=busy)
    found = [one for one in conclude(noisy) if one.variable == "engine.max_num_seqs"]
    told = {one.title: one.text for one in found}
    assert told["Equal settings differ by up to 40 %"] == (
        "Some values of max_num_seqs ran once only, so no interval between runs can be given: "
        "differences under 10 % are not resolved, and where equal settings differ by more "
        "(max_num_seqs 4 and max_num_batched_tokens 512 are the same), not below that: "
        "40 % in output throughput (12 and 20 tokens/s) and 33.3 % in P95 TTFT (1 s and 1.5 s). "
        "Other processes used cores at max_num_batched_tokens 512, which adds to the noise. "
        "Set repeats to 3 or more to narrow them."
    )


def test_the_card_tells_that_twins_agree():
    told = {one.title: one.text for one in conclude(run(19.0))}
    same = "Equal settings (max_num_seqs 4 and max_num_batched_tokens 512) differ by 5 % at most."
    assert same in told["Small differences are not resolved"]


def test_noise_is_named_where_a_tie_is_only_for_it():
    # 32 against 512: 7 / 19 = 37 %, below the 40 % that twins differ by
    title = "Can't tell what max_num_batched_tokens does to throughput"
    text = {one.title: one.text for one in conclude(run(12.0))}[title]
    assert "can't tell (equal settings differ by 40 % in this run)" in text
