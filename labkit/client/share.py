"""How one load is cut into the shares of several workers.

Pure. It must not know processes or how a share is sent.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from labkit.client.arrivals import draw_offsets
from labkit.client.pace import STAGGER_S
from labkit.environment import count_cores
from labkit.params import LoadParams
from labkit.workload import Request

STREAMS_PER_WORKER = 256
REQUESTS_PER_S_PER_WORKER = 250
"""Half of what one worker sends on a slow core; see benchmarks/capacity.py."""
WARMUP_CONCURRENCY = 8

Task = list[Request]


def group_tasks(requests: Iterable[Request]) -> list[Task]:
    """Return the requests of each task together, in order; one without a task stands alone."""
    tasks: list[Task] = []
    places: dict[str, int] = {}
    for request in requests:
        if request.task_id is not None and request.task_id in places:
            tasks[places[request.task_id]].append(request)
            continue
        if request.task_id is not None:
            places[request.task_id] = len(tasks)
        tasks.append([request])
    return tasks


def choose_num_workers(load: LoadParams, num_tasks: int, cores: int | None = None) -> int:
    """Return how many processes should send: what the params say, or what the load seems to need.

    Never more than there are requests in flight and, where the params don't say, cores that this
    process may use. A static batch has a single one, which alone can see that all of it has ended.
    """
    if load.mode == "static_batch":
        return 1
    limit = min(num_tasks, load.max_concurrency or num_tasks)
    if load.num_workers is not None:
        return max(1, min(load.num_workers, limit))
    rate_per_s = max(load.request_rate_per_s or 0.0, load.ramp_to_per_s or 0.0)
    wanted = max(
        math.ceil((load.max_concurrency or 1) / STREAMS_PER_WORKER),
        math.ceil(rate_per_s / REQUESTS_PER_S_PER_WORKER),
    )
    return max(1, min(wanted, cores or int(count_cores()), limit))


def cut_shares(
    load: LoadParams, tasks: Sequence[Task], num_workers: int, seed: int
) -> list[dict[str, Any]]:
    """Return for each worker its tasks and their pace, as the worker's job has them.

    Tasks and slots are dealt in turn, so that each worker has its part of every moment.
    """
    shares: list[dict[str, Any]] = [
        {"mode": load.mode, "tasks": list(tasks[k::num_workers]), "limit": None}
        for k in range(num_workers)
    ]
    if load.mode == "closed":
        assert load.max_concurrency is not None
        slots = min(load.max_concurrency, len(tasks))
        spacing_s = load.ramp_up_s / slots if load.ramp_up_s and slots else STAGGER_S
        for k, share in enumerate(shares):
            share["begins_s"] = [slot * spacing_s for slot in range(k, slots, num_workers)]
    elif load.mode == "static_batch":
        shares[0]["batch_size"] = load.max_concurrency
    else:
        offsets_s = draw_offsets(load, tasks, seed)
        for k, share in enumerate(shares):
            share["offsets_s"] = offsets_s[k::num_workers]
            if load.max_concurrency is not None:
                share["limit"] = len(range(k, load.max_concurrency, num_workers))
    return shares


def plan_warmup(load: LoadParams) -> LoadParams:
    """Return the load of the warm-up: closed, with as many in flight as will be measured."""
    concurrency = load.max_concurrency or WARMUP_CONCURRENCY
    return LoadParams(
        max_concurrency=concurrency,
        request_timeout_s=load.request_timeout_s,
        num_workers=load.num_workers,
    )


def count_warmup(load: LoadParams) -> int:
    """Return how many requests the warm-up has."""
    if load.num_warmup_requests is not None:
        return load.num_warmup_requests
    return load.max_concurrency or WARMUP_CONCURRENCY
