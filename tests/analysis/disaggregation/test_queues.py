"""Queues worked out by hand, and at their limits."""

import math

import numpy as np
import pytest

from labkit.analysis.disaggregation.queues import (
    Stream,
    attain_tpot,
    attain_ttft,
    count_found,
    find_places,
    find_rate,
    mean_wait,
)


def stream(a_s: float, b_s: float, tokens: float = 101, most: int = 64) -> Stream:
    return Stream(np.array([a_s]), np.array([b_s]), tokens, most)


def test_one_length_of_prompt_is_an_m_d_1() -> None:
    # 5 a second of 0.1 s: busy for a half; the wait is 0.5 * 0.1 / (2 * 0.5) = 0.05 s.
    service = np.full((1, 4), 0.1)
    assert mean_wait(np.array([5.0]), service).tolist() == pytest.approx([0.05])
    # Half of the prompts wait, by an exponential of mean 0.05 / 0.5 = 0.1 s.
    kept = [attain_ttft(np.array([5.0]), service, limit)[0] for limit in (0.099, 0.1, 0.2)]
    assert kept == pytest.approx([0.0, 0.5, 1 - 0.5 * math.exp(-1)])


def test_two_lengths_of_prompt_wait_longer() -> None:
    # 0.1 s and 0.3 s: E[S] = 0.2, E[S^2] = 0.05; 2.5 a second wait 2.5 * 0.05 / (2 * 0.5).
    service = np.array([[0.1, 0.3]])
    assert mean_wait(np.array([2.5]), service).tolist() == pytest.approx([0.125])
    # Within 0.2 s: no long prompt, and a short one that waits 0.1 s at most; u / wait = 4.
    found = attain_ttft(np.array([2.5]), service, 0.2)
    assert found.tolist() == pytest.approx([0.5 * (1 - 0.5 * math.exp(-0.4))])


@pytest.mark.parametrize("rate", [10.0, 20.0])
def test_a_queue_without_an_end_keeps_nothing(rate: float) -> None:
    service = np.full((1, 1), 0.1)
    assert attain_ttft(np.array([rate]), service, 9.0).tolist() == [0.0]
    assert mean_wait(np.array([rate]), service).tolist() == [math.inf]


def test_what_is_added_to_the_first_token_counts() -> None:
    service = np.full((1, 2), 0.1)
    more = np.array([[0.05, 0.2]])
    assert attain_ttft(np.array([0.0]), service, 0.2, more).tolist() == [0.5]


def test_running_sequences_by_littles_law() -> None:
    # 2 a second of 100 more tokens: g = 200 tokens/s of a limit of 1 / 2 ms = 500.
    pool, rate = stream(0.010, 0.002), np.array([2.0])
    assert pool.load(rate).tolist() == pytest.approx([0.4])
    assert pool.mean_tpot(rate).tolist() == pytest.approx([0.020])  # 12 ms / (1 - 0.4)
    assert pool.mean_running(rate).tolist() == pytest.approx([4.0])  # 200 * 20 ms
    found = count_found(rate, stream(0.010, 0.002, most=400))[0]
    chances = np.diff(found, prepend=0.0)
    assert chances.sum() == pytest.approx(1.0)
    assert (chances * np.arange(400)).sum() == pytest.approx(4.0)


def test_steps_that_cost_the_same_make_a_poisson_number() -> None:
    found = count_found(np.array([2.0]), stream(0.010, 1e-12))[0]
    assert found[:2].tolist() == pytest.approx([math.exp(-2), 3 * math.exp(-2)])


def test_steps_that_cost_by_the_stream_alone_make_a_geometric_number() -> None:
    # b * g = 0.01 * 50: processor sharing, half empty.
    found = count_found(np.array([0.5]), stream(1e-12, 0.01))[0]
    assert found[:3].tolist() == pytest.approx([0.5, 0.75, 0.875])


def test_tpot_above_the_limit_of_the_machine_is_never_kept() -> None:
    pool = stream(0.010, 0.002)
    assert attain_tpot(np.array([5.0]), pool, 1.0, 99).tolist() == [0.0]  # g = 500 = 1 / b
    assert pool.mean_tpot(np.array([5.0])).tolist() == [math.inf]


def test_places_within_a_limit() -> None:
    pool = stream(0.010, 0.002, most=16)
    assert [int(find_places(pool, one, 99)[0]) for one in (0.009, 0.012, 0.030, 0.100)] == [
        0,
        1,
        10,
        16,
    ]
    assert find_places(pool, 0.1, 5).tolist() == [5]
    assert attain_tpot(np.array([0.001]), pool, 0.0119, 99).tolist() == [0.0]


def test_more_requests_never_keep_more() -> None:
    rates, service = np.linspace(0.01, 6, 80), np.array([[0.05, 0.2]])
    pool = stream(0.010, 0.002)
    ttft = [float(attain_ttft(np.array([one]), service, 0.4)[0]) for one in rates]
    tpot = [float(attain_tpot(np.array([one]), pool, 0.03, 99)[0]) for one in rates]
    assert np.all(np.diff(ttft) <= 1e-12)
    assert np.all(np.diff(tpot) <= 1e-12)
    assert ttft[0] > 0.99 > 0.9 > ttft[-1]
    assert tpot[0] > 0.99 > 0.9 > tpot[-1]


def test_the_highest_rate_of_an_m_d_1() -> None:
    # Put back in, it keeps 0.9; a limit under the prefill itself is kept at no rate.
    service = np.full((1, 1), 0.1)
    rate = find_rate(lambda one: attain_ttft(one, service, 0.2), 0.9, np.array([10.0]))
    assert attain_ttft(rate, service, 0.2)[0] == pytest.approx(0.9, abs=1e-6)
    none = find_rate(lambda one: attain_ttft(one, service, 0.05), 0.9, np.array([10.0]))
    assert none.tolist() == [0.0]
