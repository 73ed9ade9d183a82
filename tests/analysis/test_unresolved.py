"""No difference seen, a small one, and can't tell: three things in three wordings."""

from analysis.facts import row

from labkit.analysis.pool import groups
from labkit.analysis.statistics import compare
from labkit.analysis.unresolved import explain, explain_all

RATE = "output_throughput_tokens_per_s"


def test_two_repeats_can_not_tell():
    # 50 against 750: root of 200 / 2 + 245000 / 2 is 350, t(1) = 12.7, half 4449: the gap
    found = explain(compare([40.0, 60.0], [400.0, 1100.0]))
    assert found.kind == "unknown"
    assert found.full == "can't tell (two repeats can't: at least 3 are needed)"


def test_many_repeats_that_scatter_can_not_tell_either():
    found = explain(compare([50.0, 90.0, 130.0], [50.0, 90.0, 130.0]))
    assert found.full == "can't tell (the repeats scatter too much)"


def test_a_narrow_interval_tells_of_no_difference():
    # variance 1 each, thirds added: 0.667, root 0.816, t(4) = 2.776, half 2.27 of 100
    found = explain(compare([99.0, 100.0, 101.0], [99.0, 100.0, 101.0]))
    assert (found.kind, found.full) == ("same", "no difference seen, within ±2.27 %")


def test_one_repeat_resolves_ten_per_cent_or_its_noise():
    assert explain(compare([100.0], [95.0])).full == "no resolved difference, under 10 %"
    noisy = explain(compare([100.0], [70.0], 0.4))
    assert noisy.full == "can't tell (equal settings differ by 40 % in this run)"


def test_of_several_pairs_the_least_is_told():
    rows = [
        row(value, rate + drift, repeat=repeat)
        for value, rate, width in ((1, 100.0, 1.0), (2, 100.0, 1.0), (3, 99.0, 60.0))
        for repeat, drift in enumerate((-width, 0.0, width))
    ]
    pooled = groups({"points": rows}, "engine.max_num_seqs")
    assert explain_all(pooled[:2], RATE).kind == "same"
    assert explain_all(pooled, RATE).kind == "unknown"
