import pytest
from analysis.facts import engine, failure, point, records, request, scheduled

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


@pytest.mark.parametrize("kind", ["shared_prefix", "multi_turn", "agent", "trace"])
def test_cache_hits_are_the_subject_of_a_workload_that_reuses(kind):
    hits = [request(cached_tokens=8)]
    assert judge(hits, workload={**WORKLOAD, "kind": kind})[0] == "VALID"
    assert judge(hits, workload={**WORKLOAD, "kind": "mixed"})[0] == "SUSPECT"


def test_a_length_that_is_a_limit_is_a_note():
    short = [request(completion_tokens=2)] * 100
    row = summarize_point(records(short, workload={**WORKLOAD, "kind": "structured"}))
    assert row["validity"] == "VALID"
    assert row["notes"][0].startswith("some completions are 33% off the length that was asked")


@pytest.mark.parametrize(
    ("workload", "tokens", "deviation"),
    [
        ({"kind": "mixed", "prompt_tokens": 16, "long_prompt_tokens": 64}, [16, 64], 0.0),
        ({"kind": "mixed", "prompt_tokens": 16, "long_prompt_tokens": 64}, [16, 80], 0.25),
        ({"kind": "shared_prefix", "prompt_tokens": 16, "prefix_tokens": 84}, [100], 0.0),
        ({"kind": "multi_turn", "prompt_tokens": 16}, [16, 900], None),
    ],
)
def test_prompts_are_held_to_what_their_workload_asks(workload, tokens, deviation):
    row = summarize_point(records([request(prompt_tokens=n) for n in tokens], workload=workload))
    assert row["prompt_tokens_deviation"] == deviation


def test_every_planned_request_is_accounted_for():
    lost = [failure(sent_at_s=None, error_kind="task_broken", finished_at_s=None)] * 2
    sent = [request(10.0 + n) for n in range(98)]
    traffic = {"num_requests": 100, "skipped": {}}
    assert judge(sent + [request()] * 2, traffic=traffic) == ("VALID", [])
    found, reasons = judge(sent + lost, traffic=traffic)
    assert found == "SUSPECT"
    assert "2 of 100 requests were not sent (2 because a step of their task failed)" in reasons
    assert not [one for one in reasons if "recorded" in one]
    found, reasons = judge(sent, traffic=traffic)
    assert reasons == ["98 of 100 planned requests were recorded"]


def test_too_many_broken_tasks_make_a_point_invalid():
    lost = [failure(sent_at_s=None, error_kind="task_broken")] * 2
    found, reasons = judge([request()] * 20 + lost)
    assert found == "INVALID"
    assert reasons[0] == "2 of 22 requests failed (task_broken: 2), more than 5%: task_broken: “no”"


def test_skipped_records_of_the_source_are_a_note():
    traffic = {"num_requests": 100, "skipped": {"too long": 2, "empty": 1, "no answer": 0}}
    row = summarize_point(records([request()] * 100, traffic=traffic))
    assert row["notes"] == [
        "3 records of the source were left out (empty: 1, too long: 2)",
    ]
    assert row["validity"] == "VALID"


def arrivals(latencies):
    return [
        scheduled(float(at), last_token_at_s=at + latency, finished_at_s=at + latency)
        for at, latency in enumerate(latencies)
    ]


@pytest.mark.parametrize(
    ("latencies", "reason"),
    [
        ([1 + n / 10 for n in range(20)], "latency drifted from 1.45 s to 2.45 s within the point"),
        ([3 - n / 10 for n in range(20)], "latency drifted from 2.55 s to 1.55 s within the point"),
        ([1 + n / 1000 for n in range(20)], None),  # sure, but under 25 %
        ([1 + n / 10 for n in range(19)], None),  # too few to say
        ([1.0, 3.0] * 10, None),  # wide, but no trend
    ],
)
def test_a_drift_within_the_point(latencies, reason):
    found, reasons = judge(arrivals(latencies), load={"mode": "open"})
    assert found == ("SUSPECT" if reason else "VALID")
    assert [one for one in reasons if reason and reason in one] == reasons


def test_an_open_load_that_slows_may_exceed_the_engine():
    slower = arrivals([1 + n / 10 for n in range(20)])
    (told,) = judge(slower, load={"mode": "open"})[1]
    assert told.endswith("the load may exceed what the engine can serve, its queue still grew")
    (told,) = judge(arrivals([3 - n / 10 for n in range(20)]), load={"mode": "open"})[1]
    assert told.endswith("it had not settled")


def test_a_closed_loop_that_drifts_had_not_settled():
    sent, slower = 10.0, []
    for latency in [1 + n / 10 for n in range(20)]:
        slower.append(request(sent, last_token_at_s=sent + latency, finished_at_s=sent + latency))
        sent += latency
    (told,) = judge(slower, load={"mode": "closed", "max_concurrency": 1})[1]
    assert told == "latency drifted from 1.45 s to 2.45 s within the point: it had not settled"
