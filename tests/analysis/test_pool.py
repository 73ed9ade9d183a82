"""The verdict that stands beside the numbers of several values."""

import pytest
from analysis.facts import row

from labkit.analysis.pool import Group, tell_doubt, tell_verdict


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
