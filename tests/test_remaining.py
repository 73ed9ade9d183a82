"""What is left of a run, after each event of sequences worked out by hand."""

from typing import Any

import pytest

from labkit.remaining import Remaining


def place(value: int, series: str | None = None, *, launches: bool = True) -> dict[str, Any]:
    return {"variable": "v", "series": series, "value": value, "launches": launches}


def plan(*points: dict[str, Any]) -> dict[str, Any]:
    return {"event": "run", "points": list(points), "at_s": 0.0}


def point(at_s: float, value: int, series: str | None = None) -> dict[str, Any]:
    return {"event": "point", "at_s": at_s, "variable": "v", "series": series, "value": value}


def ready(at_s: float) -> dict[str, Any]:
    return {"event": "ready", "at_s": at_s}


def requests(at_s: float, done: int, total: int, elapsed_s: float) -> dict[str, Any]:
    told = {"num_done": done, "num_total": total, "elapsed_s": elapsed_s}
    return {"event": "requests", "at_s": at_s, **told}


def ended(at_s: float, status: str = "ok") -> dict[str, Any]:
    return {"event": "point_end", "at_s": at_s, "status": status}


SWEEP = [
    # event, seconds left of the point, seconds left in all
    (plan(place(1), place(2), place(1)), None, None),
    (point(0, 1), None, None),
    (ready(10), None, None),  # a launch took 10 s
    (requests(12, 1, 10, 1), None, None),  # one request is no ground
    # 8 more at 1.5 s each; of the others each 10 s of launch and 4 + 12 of work
    (requests(14, 2, 10, 3), 12, 12 + 26 + 26),
    (ended(30), None, 30 + 30),  # the work took 20 s
    (point(30, 2), 30, 30 + 30),
    (ready(42), 20, 20 + 20 + 11),  # launches of 10 and 12 s
    # half done: 8 s by its own pace, 20 - 10 by what the other value took
    (requests(52, 5, 10, 8), 9, 9 + 20 + 11),
    (ended(60), None, 20 + 11),  # value 1 took 20 s in its first repeat, whatever value 2 took
    (point(60, 1), 31, 31),
    (ready(71), 20, 20),
    (ended(90), None, 0),
]


def test_a_sweep_is_estimated_after_each_event() -> None:
    remaining = Remaining()
    for event, point_s, total_s in SWEEP:
        remaining.hear(event)
        found = (remaining.point_s(event["at_s"]), remaining.total_s(event["at_s"]))
        assert found == (pytest.approx(point_s), pytest.approx(total_s)), event


def hear(*events: dict[str, Any]) -> Remaining:
    remaining = Remaining()
    for event in events:
        remaining.hear(event)
    return remaining


def test_time_passes_between_events_and_never_below_nothing() -> None:
    remaining = hear(*(event for event, _, _ in SWEEP[:5]))
    assert remaining.point_s(16) == pytest.approx(10)
    assert remaining.total_s(16) == pytest.approx(10 + 26 + 26)
    assert remaining.point_s(40) == 0
    remaining = hear(*(event for event, _, _ in SWEEP[:7]))
    assert remaining.point_s(34) == pytest.approx(6 + 20)
    assert remaining.point_s(50) == pytest.approx(20)  # a launch that takes longer than the last


def test_points_on_one_engine_are_expected_to_launch_once() -> None:
    points = [place(1), place(2, launches=False), place(3, launches=False)]
    remaining = hear(plan(*points), point(0, 1), ready(10), ended(14), point(14, 2))
    assert remaining.point_s(14) is not None
    assert remaining.total_s(14) == pytest.approx(4 + 4)
    remaining.hear(ready(14))  # and its readiness at once is no launch of no seconds
    remaining.hear(ended(20))
    assert remaining.total_s(20) == pytest.approx(5)


def test_an_arm_is_expected_to_take_what_the_same_arm_took() -> None:
    points = [place(1, "slow"), place(1, "fast"), place(2, "slow"), place(2, "fast")]
    remaining = hear(plan(*points), point(0, 1, "slow"), ready(1), ended(21))
    assert remaining.total_s(21) == pytest.approx(3 * (20 + 1))  # only the slow one is known
    for event in (point(21, 1, "fast"), ready(22), ended(26)):
        remaining.hear(event)
    assert remaining.total_s(26) == pytest.approx((20 + 1) + (4 + 1))


def test_a_failed_point_is_no_measure_and_a_smaller_try_begins_anew() -> None:
    remaining = hear(plan(place(1), place(2)), point(0, 1), ready(10), ended(11, "failed"))
    assert remaining.total_s(11) is None
    tried = hear(
        plan(place(1), place(2)),
        point(0, 1),
        ready(10),
        ended(30),
        point(30, 2),
        {"event": "step_down", "at_s": 35.0, "knob": "max_num_seqs", "to": 4},
    )
    assert tried.point_s(35) == pytest.approx(10 + 20)


def test_events_without_a_stamp_tell_nothing() -> None:
    remaining = hear({"event": "run", "num_points": 2}, {"event": "warmup"})
    assert (remaining.point_s(5), remaining.total_s(5)) == (None, 0)


def test_a_run_that_may_grow_has_no_end_to_tell() -> None:
    remaining = hear(plan(place(1)) | {"may_grow": True}, point(0, 1), ready(10), ended(30))
    for event in (plan(place(1)) | {"event": "plan"}, point(30, 1)):
        remaining.hear(event)
    assert (remaining.point_s(30), remaining.total_s(30)) == (pytest.approx(30), None)
