from typing import Any

import pytest

from labkit.client import share
from labkit.client.pace import STAGGER_S
from labkit.client.share import (
    choose_num_workers,
    count_warmup,
    cut_shares,
    group_tasks,
    plan_warmup,
)
from labkit.params import LoadParams
from labkit.workload import Request


def make_request(name: str, task_id: str | None = None) -> Request:
    return Request(name, (("user", "a"),), 1, 1, task_id=task_id)


def make_tasks(count: int) -> list[list[Request]]:
    return [[make_request(f"r{index}")] for index in range(count)]


def names(tasks: list[list[Request]]) -> list[str]:
    return ["+".join(request.request_id for request in task) for task in tasks]


def test_requests_of_a_task_stand_together_where_its_first_one_stood() -> None:
    rows = [("a", "x"), ("b", None), ("c", "y"), ("d", "x"), ("e", None), ("f", "y"), ("g", "x")]
    tasks = group_tasks(make_request(*row) for row in rows)
    assert names(tasks) == ["a+d+g", "b", "c+f", "e"]
    assert group_tasks([]) == []


@pytest.mark.parametrize(
    ("load", "num_tasks", "expected"),
    [
        ({"max_concurrency": 1}, 1000, 1),
        ({"max_concurrency": 256}, 1000, 1),
        ({"max_concurrency": 257}, 1000, 2),
        ({"max_concurrency": 9999}, 10_000, 8),
        ({"max_concurrency": 600}, 2, 2),
        ({"max_concurrency": 4, "num_workers": 3}, 1000, 3),
        ({"max_concurrency": 2, "num_workers": 3}, 1000, 2),
        ({"max_concurrency": 99, "num_workers": 20}, 1000, 20),
        ({"max_concurrency": 4}, 0, 1),
        ({"mode": "open", "request_rate_per_s": 250.0}, 1000, 1),
        ({"mode": "open", "request_rate_per_s": 10.0, "ramp_to_per_s": 700.0}, 1000, 3),
        ({"mode": "open", "request_rate_per_s": 700.0, "max_concurrency": 2}, 1000, 2),
        ({"mode": "static_batch", "max_concurrency": 2000}, 5000, 1),
        ({"mode": "trace"}, 1000, 1),
    ],
)
def test_how_many_processes_send(load: dict[str, Any], num_tasks: int, expected: int) -> None:
    assert choose_num_workers(LoadParams(**load), num_tasks, cores=8) == expected


def test_cores_are_those_that_a_container_grants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "count_cores", lambda: 2.5)
    assert choose_num_workers(LoadParams(max_concurrency=9999), 10_000) == 2
    monkeypatch.setattr(share, "count_cores", lambda: 0.5)
    assert choose_num_workers(LoadParams(max_concurrency=9999), 10_000) == 1


def test_a_closed_load_deals_tasks_and_slots_in_turn() -> None:
    shares = cut_shares(LoadParams(max_concurrency=3, num_workers=2), make_tasks(5), 2, seed=1)
    assert [names(one["tasks"]) for one in shares] == [["r0", "r2", "r4"], ["r1", "r3"]]
    assert shares[0]["begins_s"] == pytest.approx([0, 2 * STAGGER_S])
    assert shares[1]["begins_s"] == pytest.approx([STAGGER_S])
    assert {one["mode"] for one in shares} == {"closed"}
    assert [one["limit"] for one in shares] == [None, None]


def test_a_ramp_up_spreads_the_first_requests() -> None:
    (only,) = cut_shares(LoadParams(max_concurrency=4, ramp_up_s=2.0), make_tasks(8), 1, seed=1)
    assert only["begins_s"] == [0.0, 0.5, 1.0, 1.5]
    (only,) = cut_shares(LoadParams(max_concurrency=4, ramp_up_s=2.0), make_tasks(2), 1, seed=1)
    assert only["begins_s"] == [0.0, 1.0]
    (only,) = cut_shares(LoadParams(max_concurrency=4, ramp_up_s=2.0), [], 1, seed=1)
    assert only["begins_s"] == []


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_an_open_load_deals_each_task_with_its_offset_and_the_limit(num_workers: int) -> None:
    load = LoadParams(mode="open", request_rate_per_s=2.0, arrival="constant", max_concurrency=4)
    shares = cut_shares(load, make_tasks(7), num_workers, seed=1)
    dealt = {
        name: offset
        for one in shares
        for name, offset in zip(names(one["tasks"]), one["offsets_s"], strict=True)
    }
    assert dealt == {f"r{index}": index / 2 for index in range(7)}
    assert sum(one["limit"] for one in shares) == 4
    assert min(one["limit"] for one in shares) >= 1


def test_an_open_load_may_be_without_a_limit() -> None:
    load = LoadParams(mode="open", request_rate_per_s=2.0)
    assert cut_shares(load, make_tasks(2), 1, seed=1)[0]["limit"] is None


def test_a_static_batch_is_one_share() -> None:
    load = LoadParams(mode="static_batch", max_concurrency=3)
    (only,) = cut_shares(load, make_tasks(4), 1, seed=1)
    assert (only["batch_size"], len(only["tasks"]), only["limit"]) == (3, 4, None)


def test_the_warm_up_is_closed_and_as_wide_as_the_load() -> None:
    load = LoadParams(mode="open", request_rate_per_s=9.0, max_concurrency=5, request_timeout_s=7)
    assert plan_warmup(load) == LoadParams(max_concurrency=5, request_timeout_s=7)
    assert count_warmup(load) == 5
    endless = LoadParams(mode="open", request_rate_per_s=9.0)
    assert (plan_warmup(endless).max_concurrency, count_warmup(endless)) == (8, 8)
    assert count_warmup(LoadParams(max_concurrency=2, num_warmup_requests=0)) == 0
