import math
import statistics
from itertools import pairwise
from typing import Any

import pytest

from labkit.client.arrivals import draw_offsets
from labkit.errors import ParamsError
from labkit.params import LoadParams
from labkit.workload import Request


def make_tasks(count: int, offsets_s: list[float | None] | None = None) -> list[list[Request]]:
    stamps = offsets_s or [None] * count
    return [
        [Request(f"r{index}", (("user", "a"),), 1, 1, offset_s=stamp)]
        for index, stamp in enumerate(stamps)
    ]


def draw(count: int, seed: int = 1, **load: Any) -> list[float]:
    return draw_offsets(LoadParams(mode="open", **load), make_tasks(count), seed)


def gaps(offsets_s: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(offsets_s)]


def test_constant_spacing_is_exact() -> None:
    assert draw(5, request_rate_per_s=4.0, arrival="constant") == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(("burstiness", "variation"), [(1.0, 1.0), (4.0, 0.5), (0.25, 2.0)])
def test_gaps_have_the_mean_and_variation_that_were_asked(
    burstiness: float, variation: float
) -> None:
    found = gaps(draw(20_001, request_rate_per_s=5.0, burstiness=burstiness))
    mean_s = statistics.fmean(found)
    # four standard errors of the mean of 20,000 gaps
    assert mean_s == pytest.approx(0.2, rel=4 * variation / math.sqrt(20_000))
    assert statistics.stdev(found) / mean_s == pytest.approx(variation, rel=0.05)
    assert min(found) >= 0


def test_a_poisson_process_is_memoryless() -> None:
    found = gaps(draw(20_001, request_rate_per_s=5.0))
    longer = [gap for gap in found if gap > 0.2]
    assert len(longer) / len(found) == pytest.approx(math.exp(-1), abs=0.015)


def test_a_ramp_is_what_a_hand_solves() -> None:
    # from 2/s to 6/s in 8 arrivals: T = 16 / 8 = 2 s, arrivals until t = 2 t + t^2 = n
    found = draw(9, request_rate_per_s=2.0, ramp_to_per_s=6.0, arrival="constant")
    assert found == pytest.approx([math.sqrt(1 + n) - 1 for n in range(9)])
    assert (found[3], found[8]) == pytest.approx((1.0, 2.0))


def test_a_ramp_may_fall() -> None:
    found = draw(9, request_rate_per_s=6.0, ramp_to_per_s=2.0, arrival="constant")
    assert found == pytest.approx([3 - math.sqrt(9 - n) for n in range(9)])


def test_after_a_ramp_its_last_rate_holds() -> None:
    found = draw(4001, request_rate_per_s=2.0, ramp_to_per_s=6.0, seed=3)
    late = [gap for gap, at_s in zip(gaps(found), found[1:], strict=True) if at_s > 900]
    assert found[-1] == pytest.approx(1000, rel=0.05)
    assert len(late) > 100
    assert statistics.fmean(late) == pytest.approx(1 / 6, rel=0.2)


def test_a_seed_says_everything() -> None:
    assert draw(50, seed=1, request_rate_per_s=1.0) == draw(50, seed=1, request_rate_per_s=1.0)
    assert draw(50, seed=1, request_rate_per_s=1.0) != draw(50, seed=2, request_rate_per_s=1.0)
    slow, fast = (draw(50, request_rate_per_s=rate) for rate in (1.0, 2.0))
    assert fast == pytest.approx([offset / 2 for offset in slow])


def test_nothing_and_one() -> None:
    assert draw(0, request_rate_per_s=1.0) == []
    assert draw(1, request_rate_per_s=1.0, ramp_to_per_s=2.0) == [0.0]


def test_a_trace_keeps_its_stamps_divided_by_speed() -> None:
    load = LoadParams(mode="trace", speed=2.0)
    assert draw_offsets(load, make_tasks(3, [0.0, 1.0, 5.0]), 1) == [0.0, 0.5, 2.5]


@pytest.mark.parametrize(
    ("stamps", "said"),
    [([0.0, 2.0, 1.0], "one that falls; sort"), ([0.0, None], "time stamps .* found none; take")],
)
def test_stamps_that_fall_or_lack_are_refused(stamps: list[float | None], said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        draw_offsets(LoadParams(mode="trace"), make_tasks(0, stamps), 1)
