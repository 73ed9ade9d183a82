"""One worker's share of a load: sends its tasks as they are paced, and records each request.

It must not know how the share was cut, what the other workers do, or what a latency is.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from labkit.client.backlog import Backlog
from labkit.client.exchange import Exchange
from labkit.client.pace import AHEAD_S, pace_batches, pace_closed, pace_open, sleep_until
from labkit.client.record import describe
from labkit.client.stream import Target, send
from labkit.records import JsonlWriter
from labkit.workload import Request

PROGRESS_PERIOD_S = 0.25
TICK_S = 0.02

Task = list[Request]


class Sender:
    """A load that is ready to begin."""

    def __init__(
        self,
        job: dict[str, Any],
        client: AsyncOpenAI,
        redact: Callable[[str], str],
        emit: Callable[..., None],
    ) -> None:
        """Take a job as the parent cut it: target, mode, tasks, their pace, and where to record."""
        self._job = job
        self._client = client
        self._redact = redact
        self._emit = emit
        self._target = Target(**job["target"])
        self._tasks: list[Task] = [[_read(row) for row in task] for task in job.pop("tasks")]
        self._limit = asyncio.Semaphore(job["limit"]) if job["limit"] else None
        # One request is built in a turn of the loop: sockets are looked at in between.
        self._turn = asyncio.Lock()
        self._backlog = Backlog()
        self._counts = {"num_done": 0, "num_error": 0, "completion_tokens": 0}
        self._lateness_s: list[float] = []

    async def run(self, start_at_s: float) -> dict[str, Any]:
        """Send everything and return counts, stamps, CPU seconds and stalls of the event loop."""
        cpu_before_s = time.process_time()
        self._told_at_s = start_at_s
        with JsonlWriter(Path(self._job["out"])) as self._writer:
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(self._keep())
                watcher = group.create_task(self._watch())
                await self._pace(start_at_s)
                ended_at_s = time.monotonic()
                watcher.cancel()
                self._backlog.end()
                await keeper
        cpu_s = time.process_time() - cpu_before_s
        return {
            **self._counts,
            "started_at_s": start_at_s,
            "ended_at_s": ended_at_s,
            "cpu_s": cpu_s,
            "stall_s": describe_stalls(self._lateness_s),
        }

    def _pace(self, start_at_s: float) -> Coroutine[Any, Any, None]:
        job, mode = self._job, self._job["mode"]
        if mode == "closed":
            begins = [start_at_s + begin for begin in job["begins_s"]]
            return pace_closed(self._tasks, self._send_task, begin_at_s=begins)
        if mode == "static_batch":
            size = job["batch_size"]
            return pace_batches(
                self._tasks, self._send_task, batch_size=size, start_at_s=start_at_s
            )
        offsets = job["offsets_s"]
        return pace_open(self._tasks, self._send_task, offsets_s=offsets, start_at_s=start_at_s)

    async def _send_task(self, task: Task, intended_at_s: float) -> float:
        """Send the requests of a task one after the other and return when the last one ended.

        After a failed one none is sent.
        """
        told: list[tuple[str, str]] = []
        for step, request in enumerate(task):
            messages = [*told, *request.messages] if request.carry else list(request.messages)
            exchange = Exchange(
                request.request_id, intended_at_s, intended_at_s, task_id=request.task_id
            )
            exchange.step = step if request.task_id is not None else None
            exchange.wants_json = request.response_format is not None
            async with self._limit or contextlib.nullcontext():
                if self._limit:
                    exchange.released_at_s = max(intended_at_s, time.monotonic())
                async with self._turn:
                    await self._backlog.wait_for_room()
                    await asyncio.sleep(0)
                await send(self._client, self._target, request, messages, exchange)
            if step + 1 == len(task):
                self._backlog.put(exchange)
                break
            record, said = await describe(exchange, self._redact)
            self._note(record)
            if record["status"] != "ok":
                self._break(task, step + 1)
                break
            told = [*messages, ("assistant", said)]
            assert exchange.finished_at_s is not None
            intended_at_s = exchange.finished_at_s + task[step + 1].think_time_s
            # thinking holds neither a slot nor a connection that a server might drop
            await sleep_until(intended_at_s - AHEAD_S)
        assert exchange.finished_at_s is not None
        return exchange.finished_at_s

    def _break(self, task: Task, first: int) -> None:
        """Record the requests of a task that are not sent, since the one before them failed."""
        for step, request in enumerate(task[first:], start=first):
            now_s = time.monotonic()
            exchange = Exchange(request.request_id, now_s, now_s, task_id=request.task_id)
            exchange.step = step
            exchange.fault = ("task_broken", "not sent: an earlier request of its task failed")
            self._backlog.put(exchange)

    async def _keep(self) -> None:
        """Record each request after it has ended."""
        while (exchange := await self._backlog.take()) is not None:
            record, _ = await describe(exchange, self._redact)
            self._note(record)

    def _note(self, record: dict[str, Any]) -> None:
        """Append the record of a request, and tell the counts."""
        self._writer.write(record)
        self._counts["num_done"] += 1
        self._counts["num_error"] += record["status"] == "error"
        self._counts["completion_tokens"] += record["completion_tokens"] or 0
        if (now_s := time.monotonic()) - self._told_at_s >= PROGRESS_PERIOD_S:
            self._told_at_s = now_s
            self._emit("progress", **self._counts)

    async def _watch(self) -> None:
        """Note how late a tick of the event loop comes: so late may any stamp be."""
        due_at_s = time.monotonic()
        while True:
            due_at_s = max(due_at_s + TICK_S, time.monotonic())
            await asyncio.sleep(due_at_s - time.monotonic())
            self._lateness_s.append(time.monotonic() - due_at_s)


def describe_stalls(lateness_s: list[float]) -> dict[str, float | int | None]:
    """Return how late ticks came: max, p99 (nearest rank) and n, in seconds."""
    late = sorted(lateness_s)
    if not late:
        return {"max": None, "p99": None, "n": 0}
    return {
        "max": round(late[-1], 6),
        "p99": round(late[math.ceil(0.99 * len(late)) - 1], 6),
        "n": len(late),
    }


def _read(row: dict[str, Any]) -> Request:
    messages = tuple((role, content) for role, content in row["messages"])
    return Request(**{**row, "messages": messages})
