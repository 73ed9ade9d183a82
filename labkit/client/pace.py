"""When each task of a load is sent: three ways to pace the same tasks.

A task is a list of requests that follow one another, mostly a single one. `run` sends a whole task
and returns the moment at which its last answer ended; it is told when its first request is to be
sent. All stamps are seconds of the monotonic clock, which is also the clock of asyncio's loop. It
must not know HTTP, records, or what is in a request.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

AHEAD_S = 0.03
"""How long before it is due a request is built and its connection opened."""
BUILD_S = 0.002
"""What building one request may take where many are due at one moment."""
STAGGER_S = 0.001
"""Between the first requests of a closed load, which nobody asked to come in one burst."""

Task = TypeVar("Task")
Run = Callable[[Task, float], Awaitable[float]]
"""run(task, intended_at_s) -> ended_at_s"""


async def sleep_until(at_s: float) -> None:
    """Return at a moment of the monotonic clock, after a turn of the loop if it is past."""
    await asyncio.sleep(max(0.0, at_s - time.monotonic()))


async def pace_closed(
    tasks: Sequence[Task], run: Run[Task], *, begin_at_s: Sequence[float]
) -> None:
    """Keep as many tasks in flight as there are begins; the next one goes when one has ended.

    `begin_at_s`, rising, are the moments of the first tasks. All of the time before the first one
    is used to build requests ahead.
    """
    if not tasks:
        return
    waiting = deque(tasks)
    lead_s = max(AHEAD_S, begin_at_s[0] - time.monotonic())

    async def work(due_at_s: float) -> None:
        await sleep_until(due_at_s - lead_s)
        while waiting:
            due_at_s = await run(waiting.popleft(), due_at_s)

    async with asyncio.TaskGroup() as group:
        for begin in begin_at_s[: len(tasks)]:
            group.create_task(work(begin))


async def pace_open(
    tasks: Sequence[Task], run: Run[Task], *, offsets_s: Sequence[float], start_at_s: float
) -> None:
    """Send task i at start + offsets_s[i], whatever became of the others; offsets must not fall.

    The schedule is absolute, so a late one makes no other one late.
    """
    async with asyncio.TaskGroup() as group:
        for task, offset_s in zip(tasks, offsets_s, strict=True):
            await sleep_until(start_at_s + offset_s - AHEAD_S)
            group.create_task(_as_task(run(task, start_at_s + offset_s)))


async def pace_batches(
    tasks: Sequence[Task], run: Run[Task], *, batch_size: int, start_at_s: float
) -> None:
    """Send `batch_size` tasks at one moment, wait for all of them, then send the next ones."""
    due_at_s = start_at_s
    for first in range(0, len(tasks), batch_size):
        batch = tasks[first : first + batch_size]
        due_at_s = max(due_at_s, time.monotonic() + AHEAD_S + BUILD_S * len(batch))
        async with asyncio.TaskGroup() as group:
            for task in batch:
                group.create_task(_as_task(run(task, due_at_s)))


async def _as_task(running: Awaitable[float]) -> None:
    await running
