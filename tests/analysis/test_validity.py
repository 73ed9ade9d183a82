import pytest
from analysis.facts import engine, failure, point, records, request

from labkit.analysis.metrics import summarize_point
from labkit.analysis.validity import judge_point

HOST = {"source": "host", "at_s": 12.0, "client_cpu_utilization": 0.95}
WORKLOAD = point()["workload"]


def judge(requests, samples=None, **changes):
    row = summarize_point(records(requests, samples, **changes))
    return row["validity"], row["validity_reasons"]


def test_a_good_point():
    assert judge([request()] * 30) == ("VALID", [])


@pytest.mark.parametrize(
    ("requests", "samples", "changes", "verdict", "reason"),
    [
        (
            [request()],
            [],
            {"status": "failed", "error": "died"},
            "INVALID",
            "the point failed: died",
        ),
        ([request()], [], {"status": "interrupted"}, "INVALID", "the point was interrupted"),
        ([], [], {}, "INVALID", "no request succeeded"),
        ([], [], {"status": "running"}, "INVALID", "the point did not end"),
        ([failure()], [], {}, "INVALID", "no request succeeded"),
        ([request()] * 18 + [failure()], [], {}, "INVALID", "1 of 19 requests failed (refused: 1)"),
        ([request()] * 19 + [failure()], [], {}, "SUSPECT", "1 of 20 requests failed"),
        ([request()], [], {"effective": {"max_num_seqs": 4}}, "SUSPECT", "asked 8, the engine"),
        (
            [request()],
            [engine(11, num_requests_running=9)],
            {},
            "SUSPECT",
            "9 requests ran at once though max_num_seqs is 8",
        ),
        (
            [request()],
            [engine(11, num_preemptions=4), engine(12, num_preemptions=1)],
            {},
            "SUSPECT",
            "counters went back",
        ),
        ([request(completion_tokens=2)], [], {}, "SUSPECT", "some completions are 33% off"),
        ([request(cached_tokens=8)], [], {}, "SUSPECT", "50% of prompt tokens came from cache"),
        ([request(first_token_at_s=11.5)], [], {}, "SUSPECT", "impossible order"),
        ([request()], [HOST], {}, "SUSPECT", "the client used 0.95 cores"),
        ([request()], [], {"client_cpu_s": 0.95}, "SUSPECT", "the client used 0.95 cores"),
        (
            [request()],
            [],
            {"workload": {**WORKLOAD, "num_requests": 2}},
            "SUSPECT",
            "1 of 2 planned requests were recorded",
        ),
    ],
)
def test_verdicts(requests, samples, changes, verdict, reason):
    found, reasons = judge(requests, samples, **changes)
    assert found == verdict
    assert any(reason in told for told in reasons), reasons


def test_cache_hits_are_expected_without_salt_and_from_a_chat_template():
    hits = [request(cached_tokens=8)]
    assert judge(hits, workload={**WORKLOAD, "salt": False})[0] == "VALID"
    assert judge(hits, workload={**WORKLOAD, "endpoint": "chat"})[0] == "VALID"


def test_floats_are_compared_as_numbers_and_missing_ones_not_at_all():
    asked = {"gpu_memory_utilization": 0.9, "block_size": 16}
    row = summarize_point(records([request()], engine=asked, effective={}))
    assert judge_point(row, point()) == ("VALID", [])
    row["effective"] = {"gpu_memory_utilization": 0.9000000001, "block_size": 16.0}
    assert judge_point(row, point()) == ("VALID", [])
    row["effective"] = {"gpu_memory_utilization": "auto"}
    assert judge_point(row, point())[0] == "SUSPECT"
