"""Pacing on a clock of its own: time jumps to whatever is next, so nothing waits or is late."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.client import pace
from labkit.client.pace import AHEAD_S, BUILD_S, pace_batches, pace_closed, pace_open


class Jump(selectors.DefaultSelector):
    """A selector that never sleeps: what it was asked to wait is added to the clock."""

    now_s = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing more will ever happen"
        self.now_s += max(0.0, timeout)
        return super().select(0)


class JumpLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.jump = Jump()
        super().__init__(self.jump)

    def time(self) -> float:
        return self.jump.now_s


class Runs:
    """A run() that takes as long as the test says, and keeps when each began and was due."""

    def __init__(self, clock: Callable[[], float], takes_s: Mapping[int, float]) -> None:
        self.clock = clock
        self.takes_s = takes_s
        self.called_at_s: dict[int, float] = {}
        self.due_at_s: dict[int, float] = {}
        self.ended_at_s: dict[int, float] = {}
        self.in_flight = self.max_in_flight = 0
        self.lingers_s = 0.0

    async def __call__(self, task: int, due_at_s: float) -> float:
        self.called_at_s[task] = self.clock()
        self.due_at_s[task] = due_at_s
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        await asyncio.sleep(max(0.0, due_at_s - self.clock()) + self.takes_s.get(task, 1.0))
        self.in_flight -= 1
        self.ended_at_s[task] = self.clock()
        await asyncio.sleep(self.lingers_s)
        return self.ended_at_s[task]


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Runs]:
    def play(
        make: Callable[[Runs, float], Coroutine[Any, Any, None]],
        takes_s: Mapping[int, float] | None = None,
    ) -> Runs:
        loop = JumpLoop()
        monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=loop.time))
        runs = Runs(loop.time, takes_s or {})
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(make(runs, loop.time()))
        return runs

    return play


def test_a_closed_loop_keeps_so_many_in_flight(go: Callable[..., Runs]) -> None:
    takes_s = {0: 3.0, 1: 1.0, 2: 1.0, 3: 5.0, 4: 1.0}
    runs = go(lambda run, now: pace_closed(range(6), run, begin_at_s=[now + 1, now + 1.5]), takes_s)
    due_s = {task: due - 1000 for task, due in runs.due_at_s.items()}
    # slot A: 0 from 1 to 4, 4 to 5, 5 to 6; slot B: 1 from 1.5 to 2.5, 2 to 3.5, 3 to 8.5
    assert due_s == pytest.approx({0: 1, 1: 1.5, 2: 2.5, 3: 3.5, 4: 4, 5: 5})
    assert runs.max_in_flight == 2


def test_a_closed_loop_counts_from_the_end_of_the_answer(go: Callable[..., Runs]) -> None:
    def make(run: Runs, now: float) -> Coroutine[Any, Any, None]:
        run.lingers_s = 0.25
        return pace_closed(range(3), run, begin_at_s=[now + 1])

    due_s = [at - 1000 for at in go(make).due_at_s.values()]
    # each takes 1 s from when it is called: 0.25 s after the answer before it
    assert due_s == pytest.approx([1, 2, 3.25])


def test_a_closed_loop_builds_its_first_requests_before_the_start(go: Callable[..., Runs]) -> None:
    runs = go(lambda run, now: pace_closed(range(3), run, begin_at_s=[now + 1, now + 1.5]))
    called_s = {task: at - 1000 for task, at in runs.called_at_s.items()}
    assert called_s == pytest.approx({0: 0, 1: 0.5, 2: 2})


def test_a_closed_loop_starts_no_slot_without_a_task(go: Callable[..., Runs]) -> None:
    runs = go(lambda run, now: pace_closed([7], run, begin_at_s=[now, now + 1, now + 2]))
    assert list(runs.due_at_s) == [7]
    assert go(lambda run, now: pace_closed([], run, begin_at_s=[])).due_at_s == {}


def test_an_open_loop_is_late_for_nobody(go: Callable[..., Runs]) -> None:
    offsets_s = [0.0, 0.0, 0.5, 0.75, 2.0]
    runs = go(
        lambda run, now: pace_open(range(5), run, offsets_s=offsets_s, start_at_s=now + 1),
        {0: 100.0, 2: 0.0},
    )
    due_s = [runs.due_at_s[task] - 1001 for task in range(5)]
    assert due_s == pytest.approx(offsets_s)
    called_s = [runs.called_at_s[task] - 1001 for task in range(5)]
    assert called_s == pytest.approx([offset - AHEAD_S for offset in offsets_s])
    assert runs.ended_at_s[0] == pytest.approx(1101)


def test_an_open_loop_that_begins_late_keeps_its_schedule(go: Callable[..., Runs]) -> None:
    runs = go(lambda run, now: pace_open([0, 1], run, offsets_s=[0.0, 2.0], start_at_s=now - 1))
    assert runs.due_at_s == pytest.approx({0: 999, 1: 1001})
    assert runs.called_at_s == pytest.approx({0: 1000, 1: 1001 - AHEAD_S})


def test_batches_wait_for_all_of_the_one_before(go: Callable[..., Runs]) -> None:
    runs = go(
        lambda run, now: pace_batches(range(5), run, batch_size=2, start_at_s=now + 1),
        {0: 1.0, 1: 4.0, 2: 2.0, 3: 0.5},
    )
    ahead_s = AHEAD_S + 2 * BUILD_S
    second_s = 1005 + ahead_s
    third_s = second_s + 2 + AHEAD_S + BUILD_S
    expected = [1001, 1001, second_s, second_s, third_s]
    assert [runs.due_at_s[task] for task in range(5)] == pytest.approx(expected)
    assert runs.max_in_flight == 2


def test_what_a_run_raises_ends_the_load(go: Callable[..., Runs]) -> None:
    async def fail(task: int, due_at_s: float) -> float:
        raise OSError("full")

    def closed(run: Callable[[int, float], Awaitable[float]], now: float) -> Any:
        return pace_closed(range(9), fail, begin_at_s=[now])

    with pytest.raises(ExceptionGroup) as caught:
        go(closed)
    assert caught.group_contains(OSError, match="full")
