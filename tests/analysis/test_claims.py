"""Claims beside bounds: surely on the claimed side, surely not, or on both."""

import pytest
from analysis.test_arms import OUTPUT, VARIABLE, arm

from labkit.analysis import words
from labkit.analysis.arms import pair_arms
from labkit.analysis.claims import check_claim, judge, tell_change, tell_gain, tell_ratio
from labkit.analysis.finding import Effect


@pytest.mark.parametrize(
    ("low", "high", "side", "verdict"),
    [
        (2.0, 2.4, "least", "held"),
        (1.5, 1.9, "least", "not held"),
        (1.9, 2.1, "least", "can't tell"),
        (0.5, 2.0, "most", "held"),
        (2.1, 3.0, "most", "not held"),
        (1.9, 2.1, "most", "can't tell"),
    ],
)
def test_a_claim_of_two(low, high, side, verdict):
    assert judge(low, high, 2.0, side) == verdict


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (Effect("x", "ratio", 2.4), "2.4 times"),
        (Effect("x", "ratio", 2.4, 2.1, 2.7, 3), "2.4 times (95 % interval 2.1 to 2.7, 3 repeats)"),
        (Effect("x", "ratio", 0.62), "38 % less"),
        (Effect("x", "ratio", 1.1, 0.98, 1.23, 3),
         "10 % more (95 % interval -2 % to +23 %, 3 repeats)"),
    ],
)  # fmt: skip
def test_a_ratio_in_words(effect, told):
    assert tell_ratio(effect) == told


def test_a_gain_stands_before_what_is_compared():
    assert (tell_gain(2.0), tell_gain(1.5), tell_gain(0.5)) == (
        "2 times",
        "50 % more than",
        "50 % less than",
    )


@pytest.mark.parametrize(
    ("rate", "verdict", "kind"),
    [(30.0, "held", "result"), (15.0, "not held", "result"), (20.0, "can't tell", "unknown")],
)
def test_a_claim_is_told_with_its_numbers(rate, verdict, kind):
    summary = {"points": arm("a", {64: 10.0}) + arm("b", {64: rate})}
    (pair,) = pair_arms(summary, VARIABLE, "a", "b")
    found = check_claim("Twice", pair, OUTPUT, claimed=2.0, side="least", label="output",
                        form=words.tokens_per_second)  # fmt: skip
    assert (found.title, found.verdict, found.kind) == ("Twice", verdict, kind)
    assert f"output: {rate:g} tokens/s against 10 tokens/s" in found.text
    assert found.text.endswith("[VALID]")
    assert found.points == ("p64", "p64")


def test_a_small_change_is_not_called_one():
    summary = {"points": arm("a", {64: 10.0}) + arm("b", {64: 10.5})}
    (pair,) = pair_arms(summary, VARIABLE, "a", "b")
    told = tell_change(pair, OUTPUT, "output", words.tokens_per_second)
    assert told == (
        "output: 10.5 tokens/s against 10 tokens/s (no resolved difference, under 10 %)"
    )
