"""Which limit is missed, and tasks that keep the SLO in every call."""

import pytest
from analysis.facts import failure, records, request

from labkit.analysis.metrics import summarize_point

LIMITS = {"ttft_s": 0.6, "tpot_s": 0.15}


def late(sent, ttft, **changes):
    """A stream with its first token after `ttft` s and two more within 0.1 s."""
    return request(sent, first_token_at_s=sent + ttft, last_token_at_s=sent + ttft + 0.1, **changes)


def test_misses_are_told_by_limit_and_errors_apart():
    # the stream of facts.request: TTFT 0.5 s, TPOT 0.4 / 2 = 0.2 s; `late` has TPOT 0.05 s
    rows = [request(), late(11.0, 0.5), late(11.5, 0.7), failure(12.0)]
    row = summarize_point(records(rows), LIMITS)
    assert row["slo_misses"] == {"ttft_s": 1, "tpot_s": 1, "error": 1}
    assert row["num_slo_met"] == 1
    assert row["num_tasks"] is None
    assert row["null_reasons"]["num_tasks_slo_met"] == "the requests belong to no task"


def test_a_task_keeps_the_slo_if_every_call_does():
    rows = [
        late(10.0, 0.5, task_id="a"),
        late(11.0, 0.5, task_id="a"),
        late(10.0, 0.5, task_id="b"),
        late(11.0, 0.7, task_id="b"),
        late(10.0, 0.5, task_id="c"),
        failure(11.0, task_id="c"),
    ]
    row = summarize_point(records(rows), LIMITS)
    assert (row["num_tasks"], row["num_tasks_slo_met"]) == (3, 1)
    assert row["num_slo_met"] == 4


@pytest.mark.parametrize(
    ("requests", "slo", "reason"),
    [([], LIMITS, "no request was recorded"), ([request()], {}, "no SLO was given")],
)
def test_what_was_not_counted_has_a_reason(requests, slo, reason):
    row = summarize_point(records(requests), slo)
    assert row["slo_misses"] is None
    assert row["null_reasons"]["slo_misses"] == reason
