import pytest
from analysis.facts import point, records, request, scheduled

from labkit.analysis.metrics import summarize_point
from labkit.records import PointRecords

OPEN = {"mode": "open"}
CLIENT = {
    "num_workers": 1,
    "cpu_s": 1.0,
    "max_worker_cpu_s": 0.8,
    "stall_s": {"max": 0.004, "p99": 0.002, "n": 200},
}


def judge(requests, headroom=None, **changes):
    found = PointRecords("p", point(**changes), requests, [], headroom)
    row = summarize_point(found)
    return row["validity"], row["validity_reasons"]


def send_every(gap_s, lag_s, n=21, last_lag_s=None):
    lags = [lag_s] * (n - 1) + [lag_s if last_lag_s is None else last_lag_s]
    return [scheduled(10.0 + at * gap_s, lag=lag) for at, lag in enumerate(lags)]


def test_a_schedule_that_was_kept():
    assert judge(send_every(0.5, 0.004), load=OPEN) == ("VALID", [])
    # A wait for a slot is the load's, not the client's: it moves no verdict.
    waited = [scheduled(10.0 + at, wait=3.0) for at in range(21)]
    assert judge(waited, load=OPEN) == ("VALID", [])


@pytest.mark.parametrize(
    ("gap_s", "lag_s", "verdict"),
    [
        (0.010, 0.009, "VALID"),  # 10 ms are always allowed
        (0.010, 0.011, "INVALID"),
        (0.100, 0.049, "VALID"),  # half the mean gap is 50 ms
        (0.100, 0.051, "INVALID"),
    ],
)
@pytest.mark.parametrize("mode", ["open", "trace"])
def test_a_late_client_breaks_an_open_load(gap_s, lag_s, verdict, mode):
    found, reasons = judge(send_every(gap_s, lag_s), load={"mode": mode})
    assert found == verdict
    assert [one for one in reasons if "P99 of the send lag" in one] == reasons


@pytest.mark.parametrize(("late_s", "verdict"), [(0.09, "VALID"), (0.11, "INVALID")])
def test_the_span_of_sends_is_held_to_one_percent(late_s, verdict):
    # 101 requests over 10 s, the last one late: 100 ms is 1 %. Its lag alone is over half a gap
    # of 100 ms, but P99 of 101 values is the 100th, which is on time.
    found, reasons = judge(send_every(0.1, 0.0, n=101, last_lag_s=late_s), load=OPEN)
    assert found == verdict
    assert [one for one in reasons if "not the load that was drawn" in one] == reasons


def test_a_closed_loop_with_a_late_client_is_suspect():
    # A request takes 0.9 s, so 5 % are 45 ms.
    def late(lag_s):
        return judge([scheduled(10.0 + at, lag=lag_s) for at in range(4)])

    assert late(0.044) == ("VALID", [])
    assert late(0.046)[0] == "SUSPECT"
    assert "free slots waited for the client" in late(0.046)[1][0]


def test_a_closed_loop_of_short_requests_may_lag_ten_milliseconds():
    def late(lag_s):
        short = [
            scheduled(10.0 + at, lag=lag_s, last_token_at_s=10.0 + at + lag_s + 0.1, chunk_at_s=[])
            for at in range(4)
        ]
        return judge([{**one, "first_token_at_s": None} for one in short])

    assert late(0.009) == ("VALID", [])
    assert late(0.011)[0] == "SUSPECT"


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        ({}, None),
        ({"max_worker_cpu_s": 3.5}, None),  # of 4 s of load
        ({"max_worker_cpu_s": 3.7}, "the client's busiest worker used 0.93 cores"),
        ({"cpu_s": 12.0, "num_workers": 4}, None),  # many workers may use many cores
        ({"stall_s": {"max": 0.3, "p99": 0.0049, "n": 200}}, None),
        (
            {"stall_s": {"max": 0.3, "p99": 0.2, "n": 200}},
            "the client's event loop stalled: P99 200 ms and 300 ms at worst",
        ),
        ({"stall_s": {"max": None, "p99": None, "n": 0}}, None),
        ({"stall_s": {"max": 0.3, "p99": 0.3, "n": 99}}, None),
    ],
)
def test_the_client_near_its_limits(client, reason):
    found, reasons = judge([request()], client={**CLIENT, **client})
    assert found == ("SUSPECT" if reason else "VALID")
    assert [one for one in reasons if reason and reason in one] == reasons


@pytest.mark.parametrize(
    ("headroom", "workers", "reason"),
    [
        # Two requests of three chunks in 2 s: 1 request/s and 3 chunks/s.
        ({"requests_per_s": 2.0, "chunks_per_s": 6.0}, 1, None),
        ({"requests_per_s": 1.9, "chunks_per_s": 6.0}, 1, "sent 1 requests/s, 52.6 % of"),
        ({"requests_per_s": 2.0, "chunks_per_s": 5.0}, 1, "read 3 chunks/s, 60 % of"),
        ({"requests_per_s": 1.9, "chunks_per_s": 5.0, "num_workers": 1}, 2, None),
        ({"requests_per_s": 2.0, "chunks_per_s": None}, 1, None),
        (None, 1, None),
    ],
)
def test_the_client_near_its_own_ceiling(headroom, workers, reason):
    pair = [request(10.0), request(11.0)]
    found, reasons = judge(pair, headroom, client={**CLIENT, "num_workers": workers})
    assert found == ("SUSPECT" if reason else "VALID")
    assert [one for one in reasons if reason and reason in one] == reasons


def test_what_is_not_told_of_the_client_has_a_reason():
    old = summarize_point(records([request()]))["null_reasons"]
    assert old["client_busiest_cores"] == "recorded by a version that did not tell it"
    assert old["client_load"] == "the client's ceiling was not measured"
    ended = summarize_point(records([request()], client=None, client_cpu_s=None))["null_reasons"]
    assert ended["client_stall_s"].startswith("the load did not end")
    unknown = PointRecords("p", point(), [request()], headroom_reason="the self-test failed: no")
    assert summarize_point(unknown)["null_reasons"]["client_load"] == "the self-test failed: no"


def test_client_figures_by_hand():
    row = summarize_point(
        PointRecords(
            "p",
            point(client=CLIENT),
            [request(10.0), request(11.0)],
            headroom={"requests_per_s": 10.0, "chunks_per_s": 12.0, "num_workers": 1},
        )
    )
    assert row["client_cpu_s"] == 1.0
    assert row["client_busiest_cores"] == pytest.approx(0.2)
    assert row["client_stall_s"] == {"max": 0.004, "p99": 0.002, "n": 200}
    assert row["client_load"] == pytest.approx(
        {
            "requests_per_s": 1.0,
            "requests_share": 0.1,
            "chunks_per_s": 3.0,
            "chunks_share": 0.25,
        }
    )
