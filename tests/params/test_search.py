"""A search in a params file: what it begins with, and what it may not be."""

import re
from typing import Any

import pytest

from labkit.errors import ParamsError
from labkit.params import is_whole, parse_params
from labkit.plan import make_plan

BASE: dict[str, Any] = {
    "name": "small",
    "engine": {"kind": "llamacpp"},
    "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
    "load": {"mode": "open", "request_rate_per_s": 1},
    "slo": {"ttft_s": 1},
}
RATE = "load.request_rate_per_s"


def search(variable: str = RATE, **changes: Any) -> dict[str, Any]:
    told = {"low": 1, "high": 16, **changes}
    return {**BASE, "sweep": {"variable": variable, "search": told}}


def test_it_begins_with_its_ends_and_is_read_back_unchanged() -> None:
    params = parse_params(search())
    assert params.sweep[0].values == [1, 16]
    assert [point.load.request_rate_per_s for point in make_plan(params)] == [1.0, 16.0]
    again = parse_params(params.model_dump(mode="json", exclude_none=True))
    assert again.digest() == params.digest()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (search(low=16), "low must be below high, found 16 and 16"),
        ({**search(), "slo": {}}, "searches for where the SLO holds; give slo"),
        (search(share=1.5), "sweep.search.share: "),
        (search(stepps=3), "did you mean steps?"),
    ],
)
def test_what_makes_no_sense_is_told(data: dict[str, Any], told: str) -> None:
    with pytest.raises(ParamsError, match=re.escape(told)):
        parse_params(data)


def test_values_and_search_do_not_go_together() -> None:
    data = search()
    data["sweep"]["values"] = [1, 2, 16]
    with pytest.raises(ParamsError, match="give values or search, not both"):
        parse_params(data)


def test_one_end_alone_is_not_enough() -> None:
    data = search()
    del data["sweep"]["search"]["high"]
    with pytest.raises(ParamsError, match=r"sweep\.search\.high is required"):
        parse_params(data)


def test_a_word_cannot_be_searched() -> None:
    params = parse_params(search("engine.enable_prefix_caching"))
    with pytest.raises(ParamsError, match="enable_prefix_caching"):
        make_plan(params)


def test_a_load_lasts_as_long_as_asked_at_any_rate() -> None:
    low, high = make_plan(parse_params(search(duration_s=2.5)))
    assert low.workload.num_requests == 3  # 1 * 2.5, rounded up, over the 2 of the workload
    assert high.workload.num_requests == 40  # 16 * 2.5
    few = {**search(duration_s=0.5), "workload": {**BASE["workload"], "num_requests": 5}}
    assert [one.workload.num_requests for one in make_plan(parse_params(few))] == [5, 8]


def test_tasks_are_as_many_as_needed() -> None:
    data = search(duration_s=1.0)
    data["workload"] = {
        "kind": "agent", "num_tasks": 4, "num_steps": 2, "prompt_tokens": 8, "step_tokens": 2,
        "completion_tokens": 2,
    }  # fmt: skip
    assert [one.workload.num_requests for one in make_plan(parse_params(data))] == [8, 32]


def test_only_a_rate_has_a_duration() -> None:
    with pytest.raises(ParamsError, match=r"search\.duration_s belongs to"):
        parse_params(search("load.max_concurrency", duration_s=2.0))


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        (RATE, False),
        ("load.max_concurrency", True),
        ("engine.max_num_seqs", True),
        ("engine.gpu_memory_utilization", False),
        ("engine.enable_prefix_caching", False),
        ("workload.num_steps", True),
        ("workload.prompt_tokens", True),
        ("workload.long_share", False),
    ],
)
def test_whole_numbers_are_known(path: str, whole: bool) -> None:
    assert is_whole(path) is whole
