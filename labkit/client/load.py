"""Fires a workload from processes of its own and waits for it, watching the engine.

The caller's event loop, kernel and plots are in another process than the stamps. The processes are
made once and serve one load after another; whatever ends a load badly, they are ended with it, and
every record that was written stays. It must not know engines, plans, or how a latency is derived.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from labkit.address import read_key
from labkit.client.pace import BUILD_S
from labkit.client.share import (
    choose_num_workers,
    cut_shares,
    group_tasks,
    plan_warmup,
)
from labkit.client.stream import Target, make_redact
from labkit.client.workers import Workers
from labkit.params import LoadParams
from labkit.workload import Request

LEAD_S = 0.1
"""Between the order to begin and the first request, beside what building takes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load is; `num_done` counts ended requests, the failed ones included."""

    num_done: int
    num_error: int
    num_total: int
    completion_tokens: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A load that ran to its end; stamps in monotonic seconds, `num_done` includes errors."""

    started_at_s: float
    ended_at_s: float
    num_done: int
    num_error: int
    client: dict[str, Any]
    """num_workers, cpu_s, max_worker_cpu_s, and stall_s: {max, p99, n}."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be sent, to whom, how, and where each request is recorded."""

    requests: Sequence[Request]
    warmup: Sequence[Request]
    target: Target
    load: LoadParams
    seed: int
    """Of the arrivals."""
    api_key_env: str | None
    out: Path


class Client:
    """The processes that send; they end with the block."""

    def __init__(self, num_workers: int = 1) -> None:
        """Start the processes that will surely be needed; they get ready meanwhile."""
        self._workers = Workers()
        self._workers.start(num_workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._workers.stop()

    def pids(self) -> list[int]:
        """Return the processes that run now."""
        return self._workers.pids()

    def fire(
        self,
        order: Order,
        *,
        on_progress: Callable[[Progress], None],
        check: Callable[[], None],
        on_warmup: Callable[[Progress], None] = lambda progress: None,
    ) -> LoadResult:
        """Send the warm-up, then all requests; their records are in `order.out`.

        `on_progress` is called at most four times a second and worker, and once at the end,
        `check` about every 0.25 s. What `check` raises ends the load and is passed on. The warm-up
        is in no count or stamp of the result; its records are in `warmup.jsonl` beside `out`. A
        request that fails is a record, not an error. Raises ParamsError if the variable
        `api_key_env` is not set or holds what can't be sent, LabkitError if a worker dies.
        """
        try:
            if order.warmup:
                first = dataclasses.replace(
                    order,
                    requests=order.warmup,
                    load=plan_warmup(order.load),
                    out=order.out.with_name("warmup.jsonl"),
                )
                self._fire(first, on_warmup, check)
            return self._fire(order, on_progress, check)
        except BaseException:
            self._workers.stop()
            raise

    def _fire(
        self, order: Order, tell: Callable[[Progress], None], check: Callable[[], None]
    ) -> LoadResult:
        redact = make_redact(read_key(order.api_key_env))
        tasks = group_tasks(order.requests)
        num_workers = choose_num_workers(order.load, len(tasks))
        shares = cut_shares(order.load, tasks, num_workers, order.seed)
        target = dataclasses.asdict(order.target)
        for share in shares:
            share |= {
                "tasks": [[dataclasses.asdict(one) for one in task] for task in share["tasks"]],
                "target": target,
                "api_key_env": order.api_key_env,
                "out": str(order.out),
            }
        workers = self._workers.take(num_workers, redact, order.out)
        workers.arm(shares, check)
        at_once = max(len(share.get("begins_s", [])) for share in shares)
        started_at_s = round(time.monotonic() + LEAD_S + BUILD_S * at_once, 6)

        counts: list[dict[str, Any]] = [{} for _ in shares]

        def progress() -> Progress:
            def add(name: str) -> int:
                return sum(one.get(name, 0) for one in counts)

            return Progress(
                add("num_done"), add("num_error"), len(order.requests), add("completion_tokens"),
                max(0.0, time.monotonic() - started_at_s),
            )  # fmt: skip

        for index, event in workers.run(started_at_s, check):
            counts[index] = event
            if event["event"] == "progress":
                tell(progress())
        ended_at_s = max(one["ended_at_s"] for one in counts)
        ended = dataclasses.replace(progress(), elapsed_s=ended_at_s - started_at_s)
        tell(ended)
        stalls = [one["stall_s"] for one in counts]
        return LoadResult(
            started_at_s=started_at_s,
            ended_at_s=ended_at_s,
            num_done=ended.num_done,
            num_error=ended.num_error,
            client={
                "num_workers": num_workers,
                "cpu_s": sum(one["cpu_s"] for one in counts),
                "max_worker_cpu_s": max(one["cpu_s"] for one in counts),
                "stall_s": {
                    "max": max((one["max"] for one in stalls if one["n"]), default=None),
                    "p99": max((one["p99"] for one in stalls if one["n"]), default=None),
                    "n": sum(one["n"] for one in stalls),
                },
            },
        )
