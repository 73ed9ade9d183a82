"""Params that measure one thing again and again."""

from typing import Any

import pytest

from labkit.errors import ParamsError
from labkit.params import Params, parse_params, repeat_first
from labkit.plan import make_plan


def make_params(name: str = "small", **changes: Any) -> Params:
    data = {
        "name": name,
        "notebook": "batching",
        "engine": {"kind": "llamacpp"},
        "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
        "load": {"max_concurrency": 2},
        "sweep": [
            {"variable": "engine.max_num_seqs", "values": [4, 8], "order": "shuffled"},
            {"variable": "load.max_concurrency", "values": [1, 2]},
        ],
    }
    return parse_params(data | changes)


def test_the_first_value_alone_is_repeated_on_a_new_engine_each_time() -> None:
    found = repeat_first(make_params(), 3)
    plan = make_plan(found)
    assert [(point.variable, point.value, point.repeat, point.relaunch) for point in plan] == [
        ("engine.max_num_seqs", 4, repeat, True) for repeat in range(3)
    ]
    assert (found.name, found.notebook) == ("small-aa", "sweep")
    assert parse_params(found.model_dump(mode="json")) == found


def test_again_it_is_the_same() -> None:
    found = repeat_first(make_params("a" * 40), 3)
    assert len(found.name) == 40
    assert repeat_first(found, 3).digest() == found.digest()


def test_one_repeat_is_no_noise() -> None:
    with pytest.raises(ParamsError, match="expected 2 or more repeats after --aa, found 1"):
        repeat_first(make_params(), 1)
