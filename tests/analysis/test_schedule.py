import pytest
from analysis.facts import failure, records, request, scheduled

from labkit.analysis.metrics import summarize_point
from labkit.analysis.schedule import NO_SCHEDULE, name_latency

OPEN = {"mode": "open", "request_rate_per_s": 2.0}
# Due at 10, 11, 12 and 14; the third waits 0.5 s for a slot; each is sent 1 ms later.
FOUR = [scheduled(at, wait, 0.001) for at, wait in ((10, 0.0), (11, 0.0), (12, 0.5), (14, 0.0))]


def test_open_loop_by_hand():
    row = summarize_point(records(FOUR, load=OPEN))
    assert row["slot_wait_s"]["n"] == 4
    assert row["slot_wait_s"]["mean"] == pytest.approx(0.125)
    assert row["send_lag_s"]["p99"] == pytest.approx(0.001)
    assert row["offered_rate_per_s"] == pytest.approx(3 / 4)
    assert row["achieved_rate_per_s"] == pytest.approx(3 / 4)
    assert row["released_span_s"] == row["sent_span_s"] == pytest.approx(4.0)
    # A first token comes 0.5 s after the send: 0.501 s after the intended time, 1.001 s for one.
    assert row["ttft_s"]["mean"] == pytest.approx(0.5)
    assert row["ttft_intended_s"]["mean"] == pytest.approx(0.501 + 0.125)
    assert row["e2e_latency_intended_s"]["mean"] == pytest.approx(0.901 + 0.125)
    assert row["ttft_intended_s"]["n"] == 4


@pytest.mark.parametrize("mode", ["closed", "static_batch"])
def test_without_a_schedule_nothing_counts_from_the_intended_time(mode):
    row = summarize_point(records(FOUR, load={"mode": mode, "max_concurrency": 2}))
    for name in (
        "ttft_intended_s",
        "e2e_latency_intended_s",
        "slot_wait_s",
        "offered_rate_per_s",
        "achieved_rate_per_s",
        "released_span_s",
        "sent_span_s",
    ):
        assert row[name] is None
        assert row["null_reasons"][name] == NO_SCHEDULE == "closed loop has no intended time"
    assert row["send_lag_s"]["p50"] == pytest.approx(0.001)


def test_a_record_from_before_releases_were_told():
    row = summarize_point(records([request(intended_at_s=9.9)]))
    assert row["send_lag_s"] is None
    assert row["null_reasons"]["send_lag_s"] == "the records do not tell released_at_s"
    assert row["num_stamp_faults"] == 0
    assert row["validity"] == "VALID"


def test_a_release_before_its_time_is_an_impossible_order():
    row = summarize_point(records([scheduled(10.0, wait=-1.0)], load=OPEN))
    assert row["num_stamp_faults"] == 1


def test_the_slo_is_judged_from_the_intended_time():
    # From the send all four have their first token in 0.5 s; one waited 0.5 s before it.
    slo = {"ttft_s": 0.6, "e2e_latency_s": 1.0}
    row = summarize_point(records(FOUR, load=OPEN), slo)
    assert (row["num_slo_met"], row["slo_attainment"]) == (3, 0.75)
    assert summarize_point(records(FOUR), slo)["num_slo_met"] == 4


def test_nothing_sent_and_one_moment():
    row = summarize_point(records([failure(sent_at_s=None)], load=OPEN))
    assert row["null_reasons"]["achieved_rate_per_s"] == "no request was sent"
    assert row["null_reasons"]["send_lag_s"] == "no request was sent"
    row = summarize_point(records([scheduled(10.0)], load=OPEN))
    assert row["null_reasons"]["offered_rate_per_s"] == "fewer than two moments are told"
    assert row["null_reasons"]["sent_span_s"] == "fewer than two requests tell it"


def test_the_latency_to_show():
    due, closed = {"load": OPEN}, {"load": {"mode": "closed"}}
    assert name_latency("ttft_s", [due, due]) == "ttft_intended_s"
    assert name_latency("tpot_s", [due]) == "tpot_s"
    assert name_latency("ttft_s", [due, closed]) == "ttft_s"
    assert name_latency("ttft_s", []) == "ttft_s"
