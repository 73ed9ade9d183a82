"""The growth of the queue, against slopes worked out by hand."""

import pytest
from analysis.facts import engine, point, request

from labkit.analysis.trend import queue_growth, theil_sen


def test_the_slope_is_the_median_of_all_pairs() -> None:
    assert theil_sen([0, 1, 2], [0, 1, 8]) == 4.0  # slopes 1, 7 and 4
    assert theil_sen([0, 1, 2, 3, 4], [0, 2, 4, 6, 100]) == 2.0  # one outlier does not move it
    assert theil_sen([1, 1], [0, 5]) == 0.0


def test_only_samples_until_the_last_send_count() -> None:
    samples = [engine(10 + i, num_requests_waiting=3 * i) for i in range(10)]
    samples += [engine(20 + i, num_requests_waiting=0) for i in range(10)]
    reasons: dict[str, str] = {}
    found = queue_growth(point(), samples, [request(10.0), request(19.0)], (10.0, 30.0), reasons)
    told = found["queue_growth_per_s"]
    assert (told["slope"], told["span_s"], told["n"]) == (3.0, 9.0, 10)
    assert told["p_value"] == pytest.approx(0.0027, abs=1e-4)  # erfc(3 / sqrt 2)
    assert reasons == {}


def test_too_few_samples_give_a_reason() -> None:
    samples = [engine(10 + i, num_requests_waiting=i) for i in range(7)]
    reasons: dict[str, str] = {}
    found = queue_growth(point(), samples, [request(17.0)], (10.0, 18.0), reasons)
    assert found == {"queue_growth_per_s": None}
    assert reasons["queue_growth_per_s"].startswith("7 samples fell between")
