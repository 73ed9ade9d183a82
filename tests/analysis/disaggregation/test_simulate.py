"""The simulated engine: requests worked out by hand, and queues whose means are known."""

import numpy as np
import pytest

from labkit.analysis.disaggregation.queues import Floats, Stream, mean_wait
from labkit.analysis.disaggregation.simulate import Arrivals, draw_arrivals, simulate


def engine(a_s: float, b_s: float, tokens: float, most: int, lanes: int = 1) -> Stream:
    return Stream(np.full(lanes, a_s), np.full(lanes, b_s), tokens, most)


def come(*at_s: float) -> Arrivals:
    return Arrivals(np.diff([0.0, *at_s])[None, :], np.zeros((1, len(at_s)), dtype=np.int64))


def run(pool: Stream, arrivals: Arrivals, chunks: int = 1) -> tuple[list[float], list[float]]:
    service = np.array([[0.1]])
    ttft, tpot = simulate(np.array([1.0]), pool, service, np.array([chunks]), arrivals)
    return ttft[0].tolist(), tpot[0].tolist()


def test_one_request_alone() -> None:
    ttft, tpot = run(engine(0.01, 0.005, 5, 4), come(2.0))
    assert ttft == pytest.approx([0.1])
    assert tpot == pytest.approx([0.015])


def test_a_prefill_stalls_the_one_that_runs() -> None:
    # 0.1: first token of one. 0.21: of two, 0.1 and 10 ms for the token that one gets beside it.
    # 0.24: both step, one ends: 0.14 s for 2 tokens. 0.26: two alone steps and ends.
    ttft, tpot = run(engine(0.01, 0.01, 3, 4), come(0.0, 0.0))
    assert ttft == pytest.approx([0.1, 0.21])
    assert tpot == pytest.approx([0.07, 0.025])


def test_without_a_place_a_prompt_waits_for_an_end() -> None:
    # One ends at 0.1 + 2 * 0.02; two's prefill begins then.
    ttft, tpot = run(engine(0.01, 0.01, 3, 1), come(0.0, 0.0))
    assert ttft == pytest.approx([0.1, 0.24])
    assert tpot == pytest.approx([0.02, 0.02])


def test_a_prompt_in_pieces_lets_the_running_ones_step() -> None:
    # Two halves of 50 ms, each with a token of one beside it: one ends with the second, at 0.22.
    ttft, tpot = run(engine(0.01, 0.01, 3, 4), come(0.0, 0.0), chunks=2)
    assert ttft == pytest.approx([0.1, 0.22])
    assert tpot == pytest.approx([0.06, 0.02])


def test_a_prompt_waits_for_the_step_that_runs() -> None:
    # Steps of one end at 0.12, 0.14 ...; two comes at 0.13 and begins at 0.14.
    ttft, _ = run(engine(0.01, 0.01, 9, 4), come(0.0, 0.13))
    assert ttft == pytest.approx([0.1, 0.01 + 0.1 + 0.01])


def long_run(pool: Stream, service: Floats, rate: float) -> tuple[Floats, Floats]:
    lanes = len(service)
    arrivals = draw_arrivals(lanes, 400, service.shape[1], seed=5)
    chunks = np.ones(service.shape[1], dtype=np.int64)
    return simulate(np.full(lanes, rate), pool, service, chunks, arrivals)


def test_prefill_alone_waits_as_pollaczek_and_khinchine_say() -> None:
    service = np.tile([[0.1, 0.3]], (60, 1))
    ttft, _ = long_run(engine(1e-9, 1e-12, 2, 64, lanes=60), service, 2.0)
    told = float(mean_wait(np.array([2.0]), service[:1])[0])
    assert ttft[:, 50:].mean() - 0.2 == pytest.approx(told, rel=0.1)


def test_decode_alone_steps_as_little_says() -> None:
    # long answers, since a step beside a prefill that takes no time costs no `a`
    pool = engine(0.010, 0.002, 401, 64, lanes=60)
    _, tpot = long_run(pool, np.full((60, 1), 1e-9), 0.5)
    assert tpot[:, 50:].mean() == pytest.approx(0.012 / (1 - 0.4), rel=0.05)
