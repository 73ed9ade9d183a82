import pytest
from analysis.facts import failure, records, request, scheduled

from labkit.analysis.metrics import summarize_point
from labkit.analysis.statistics import trend_probability
from labkit.analysis.steady import count_tokens, find_window

NAME = "steady_output_throughput_tokens_per_s"


def stream(sent, finished, stamps=(), tokens=0, **changes):
    return request(
        sent,
        first_token_at_s=stamps[0] if stamps else None,
        last_token_at_s=stamps[-1] if stamps else None,
        finished_at_s=finished,
        chunk_at_s=list(stamps),
        completion_tokens=tokens,
        **changes,
    )


# Two slots. In flight: 1 from 0, 2 from 1; a slot is refilled at 5 and at 7, after the end of the
# one at 7 nothing is left to send, so the first slot is idle for good from 9 on.
TWO_SLOTS = [
    stream(0.0, 5.0, (1.0, 3.0, 5.0), 6),
    stream(1.0, 7.0, (2.0, 7.0), 2),
    stream(5.0, 9.0, (6.0, 9.0), 4),
    stream(7.0, 11.0, (8.0, 9.5, 10.0, 11.0), 4),
]


def test_a_closed_loop_is_full_from_all_slots_used_to_the_first_one_idle():
    assert find_window(TWO_SLOTS, 2, scheduled=False) == ((1.0, 9.0), "")
    # Inside [1, 9]: 6 + 2 + 4 tokens, and one of four of the last request.
    assert count_tokens(TWO_SLOTS, (1.0, 9.0)) == pytest.approx(13.0)
    row = summarize_point(records(TWO_SLOTS))
    assert row["steady_window_s"] == pytest.approx(8.0)
    assert row[NAME] == pytest.approx(13 / 8)
    assert row["output_throughput_tokens_per_s"] == pytest.approx(16 / 11)


def test_a_static_batch_is_full_from_its_last_send_to_its_first_end():
    batch = [stream(0.0, 8.0), stream(0.5, 6.0), stream(1.0, 9.0)]
    assert find_window(batch, 3, scheduled=False)[0] == (1.0, 6.0)


def test_an_open_loop_is_watched_from_the_first_to_the_last_intended_time():
    due = [scheduled(float(at)) for at in (10, 11, 14)]
    assert find_window(due, None, scheduled=True)[0] == (10.0, 14.0)
    # Tokens come 0.5, 0.6 and 0.9 s after each send: the last request has none up to 14.
    row = summarize_point(records(due, load={"mode": "open"}))
    assert row[NAME] == pytest.approx(6 / 4)


def test_tokens_of_a_chunk_count_as_told():
    one = stream(0.0, 4.0, (1.0, 2.0, 3.0), 10, chunk_tokens=[1, 6, 3])
    assert count_tokens([one], (1.5, 3.0)) == pytest.approx(9.0)
    assert count_tokens([stream(0.0, 1.0)], (0.0, 1.0)) == 0


@pytest.mark.parametrize(
    ("requests", "load", "reason"),
    [
        (TWO_SLOTS, {"max_concurrency": 3}, "there were never 3 requests in flight at once"),
        ([], {"max_concurrency": 3}, "there were never 3 requests in flight at once"),
        (TWO_SLOTS, {}, "the load does not tell max_concurrency"),
        (TWO_SLOTS, {"mode": "open"}, "the records do not tell intended_at_s"),
        (
            # One slot, used 1 s of 10: its task thinks in between.
            [stream(0.0, 1.0), stream(9.0, 10.0)],
            {"max_concurrency": 1},
            "only 20% of max_concurrency was in flight on average while there were requests to "
            "send",
        ),
        (
            # Due within 1 s, served for 20.
            [scheduled(10.0), scheduled(11.0, finished_at_s=30.0)],
            {"mode": "open"},
            "the load was full for 1 s of 20 s only",
        ),
        (
            [*TWO_SLOTS[:3], stream(7.0, 11.0, (8.0,), None)],
            {"max_concurrency": 2},
            "1 of 4 ok requests do not tell their tokens",
        ),
        ([failure(0.0), failure(0.1)], {"max_concurrency": 2}, "no request succeeded"),
    ],
)
def test_no_steady_throughput_has_a_reason(requests, load, reason):
    row = summarize_point(records(requests, load=load))
    assert row[NAME] is None
    assert row["null_reasons"][NAME] == reason


def test_probability_of_a_trend_by_hand():
    # A perfect order of 10: rho 1, z = sqrt(9) = 3, two-sided p = erfc(3 / sqrt(2)) = 0.0027.
    assert trend_probability(range(10)) == pytest.approx(0.0027, abs=1e-4)
    assert trend_probability(range(10, 0, -1)) == pytest.approx(0.0027, abs=1e-4)
    # Ranks 1, 3.5, 2, 3.5 against 1, 2, 3, 4: covariance 1, deviations sqrt(4.5 * 5) / 3,
    # so rho = 3 / sqrt(22.5) = 0.632, z = 1.095, p = 0.273.
    assert trend_probability([1.0, 9.0, 2.0, 9.0]) == pytest.approx(0.273, abs=1e-3)
    assert trend_probability([2.0] * 30) == trend_probability([1.0]) == trend_probability([]) == 1


def arrivals(latencies, **changes):
    return [
        scheduled(float(at), last_token_at_s=at + latency, finished_at_s=at + latency, **changes)
        for at, latency in enumerate(latencies)
    ]


def test_drift_compares_both_halves():
    row = summarize_point(records(arrivals(range(1, 21)), load={"mode": "open"}))
    drift = row["latency_drift"]
    assert (drift["first_s"], drift["second_s"], drift["n"]) == (5.5, 15.5, 20)
    assert drift["p_value"] < 1e-4


def test_drift_leaves_out_ramp_up_tail_and_later_steps():
    row = summarize_point(records(TWO_SLOTS))
    assert row["null_reasons"]["latency_drift"] == (
        "3 requests began in the steady part, fewer than 20"
    )
    later = arrivals(range(1, 21), step=1, task_id="a")
    row = summarize_point(records(later, load={"mode": "open"}))
    assert row["null_reasons"]["latency_drift"].startswith("0 requests began")
    ramp = {"mode": "open", "ramp_to_per_s": 9.0}
    row = summarize_point(records(arrivals(range(1, 21)), load=ramp))
    assert row["null_reasons"]["latency_drift"] == (
        "the arrival rate was meant to change within the point"
    )
