"""The verdict that stands beside the numbers of several values."""

import pytest
from analysis.facts import row

from labkit.analysis.pool import Group, arms, groups, take_arm, tell_doubt, tell_verdict


def group(value, *verdicts):
    rows = [row(value, 50.0, validity=one, validity_reasons=["late"]) for one in verdicts]
    return Group("engine.max_num_seqs", value, tuple(rows))


@pytest.mark.parametrize(
    ("pooled", "told"),
    [
        ([group(2, "VALID"), group(4, "VALID")], "[VALID]"),
        ([group(2, "VALID", "SUSPECT")], "[SUSPECT]"),
        ([group(2, "SUSPECT"), group(4, "VALID")], "[SUSPECT at max_num_seqs = 2]"),
        ([group(16, "SUSPECT"), group(8, "VALID"), group(2, "SUSPECT")],
         "[SUSPECT at max_num_seqs = 2 and 16]"),
        ([group(2, "SUSPECT"), group(2, "SUSPECT")], "[SUSPECT at max_num_seqs = 2]"),
    ],
)  # fmt: skip
def test_a_doubt_names_the_setting_and_its_values(pooled, told):
    assert tell_verdict(pooled) == told
    assert tell_doubt(pooled) == ("" if told == "[VALID]" else f" {told}")


def test_arms_are_told_apart_and_never_pooled():
    other = {"variable": "engine.block_size"}
    rows = [row(1, 50.0, series="a"), row(1, 20.0, series="b"), row(1, 9.0, **other)]
    summary = {"points": rows}
    assert arms(summary) == [
        ("engine.max_num_seqs", "a"),
        ("engine.max_num_seqs", "b"),
        ("engine.block_size", None),
    ]
    assert take_arm(summary, ("engine.max_num_seqs", "b"))["points"] == rows[1:]
    pooled = groups(summary, "engine.max_num_seqs")
    assert [(one.name, one.series) for one in pooled] == [
        ("max_num_seqs 1", "a"),
        ("max_num_seqs 1", "b"),
    ]
    assert [len(one.rows) for one in pooled] == [1, 1]
