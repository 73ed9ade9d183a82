from array import array

import numpy as np
import pytest
from analysis.facts import failure, records, request

from labkit.analysis.latencies import find_tasks, pool_gaps
from labkit.analysis.metrics import summarize_point


def test_gaps_of_packed_and_plain_stamps_are_pooled():
    rows = [{"chunk_at_s": array("d", [1.0, 1.5, 2.5])}, {"chunk_at_s": [4.0]}, {"chunk_at_s": []}]
    rows += [{"chunk_at_s": None}, {}, {"chunk_at_s": [7.0, 7.25]}]
    assert np.array_equal(pool_gaps(rows), [0.5, 1.0, 0.25])
    assert pool_gaps([]).size == 0


def test_a_task_lasts_from_its_first_send_to_its_last_token():
    # Task a: sent at 10, its second step sent at 12 has its last token at 12.9.
    # Task b lost its second step, so it has no latency.
    steps = [
        request(10.0, task_id="a", step=0),
        request(12.0, task_id="a", step=1),
        request(10.0, task_id="b", step=0),
        failure(11.0, task_id="b", step=1),
        request(20.0),
    ]
    assert find_tasks(steps) == (2, [pytest.approx(2.9)])
    row = summarize_point(records(steps))
    assert row["task_latency_s"]["p50"] == pytest.approx(2.9)
    assert row["task_latency_s"]["n"] == 1


def test_no_task_and_no_whole_task_have_reasons():
    row = summarize_point(records([request()]))
    assert row["null_reasons"]["task_latency_s"] == "the requests belong to no task"
    row = summarize_point(records([request(), failure(task_id="a", step=0)]))
    assert row["null_reasons"]["task_latency_s"] == "none of 1 tasks has every step ok"
