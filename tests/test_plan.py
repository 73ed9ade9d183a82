"""The plan: pure, one variable at a time."""

from pathlib import Path

import pytest

from labkit.errors import ParamsError
from labkit.params import Params, parse_params
from labkit.plan import make_plan


def make_params(**changes: object) -> Params:
    return parse_params(
        {
            "name": "small",
            "engine": {"kind": "llamacpp", "max_num_seqs": 4, "max_num_batched_tokens": 256},
            "workload": {
                "num_requests": 8,
                "seed": 10,
                "prompt_tokens": 16,
                "completion_tokens": 8,
            },
            "load": {"max_concurrency": 2},
            "sweep": [
                {"variable": "engine.max_num_seqs", "values": [1, 2], "repeats": 2},
                {"variable": "engine.max_num_batched_tokens", "values": [64]},
            ],
            **changes,
        }
    )


def test_each_sweep_moves_its_variable_alone() -> None:
    plan = make_plan(make_params())
    assert [
        (point.engine.max_num_seqs, point.engine.max_num_batched_tokens, point.repeat)
        for point in plan
    ] == [(1, 256, 0), (2, 256, 0), (4, 64, 0), (1, 256, 1), (2, 256, 1)]


def test_every_value_has_the_same_seed_and_every_repeat_another() -> None:
    assert [point.seed for point in make_plan(make_params())] == [10, 10, 10, 11, 11]


def test_ids_are_unique_names_of_folders() -> None:
    ids = [point.point_id for point in make_plan(make_params())]
    assert ids[0] == "000-max_num_seqs-1-r0"
    assert len(set(ids)) == len(ids)
    assert all(Path(name).name == name for name in ids)


def test_a_value_that_is_a_path_becomes_a_plain_name() -> None:
    sweep = {"variable": "engine.model", "values": ["../a b.gguf"]}
    assert make_plan(make_params(sweep=sweep))[0].point_id == "000-model-..-a-b.gguf-r0"


def test_a_shuffled_order_is_the_same_every_time() -> None:
    values = list(range(1, 9))
    sweep = {"variable": "load.max_concurrency", "values": values, "order": "shuffled"}
    first, second = (
        [point.value for point in make_plan(make_params(sweep=sweep))] for _ in range(2)
    )
    assert first == second
    assert first != values
    assert sorted(map(int, first)) == values


@pytest.mark.parametrize(
    ("variable", "values", "told"),
    [
        ("engine.max_num_seq", [1], "did you mean engine.max_num_seqs?"),
        ("slo.ttft_s", [1.0], "is not a parameter"),
        ("engine.max_num_seqs", ["many"], "valid integer"),
        ("engine.max_num_seqs", [0], "greater than or equal to 1"),
    ],
)
def test_a_sweep_that_cannot_be(variable: str, values: list[object], told: str) -> None:
    with pytest.raises(ParamsError, match=r".") as caught:
        make_plan(make_params(sweep={"variable": variable, "values": values}))
    assert told in str(caught.value)


def test_more_points_than_anybody_would_wait_for_are_refused() -> None:
    sweep = {"variable": "engine.max_num_seqs", "values": [1, 2], "repeats": 5001}
    with pytest.raises(ParamsError, match="at most 10000 points, found 10002"):
        make_plan(make_params(sweep=sweep))


def test_the_same_sweep_twice_is_refused() -> None:
    sweeps = [{"variable": "engine.max_num_seqs", "values": values} for values in ([1, 2], [2, 1])]
    with pytest.raises(ParamsError, match=r"engine\.max_num_seqs over the same values twice"):
        make_params(sweep=sweeps)


def test_recorded_times_need_a_workload_that_has_them() -> None:
    with pytest.raises(ParamsError, match=r"needs workload\.kind trace, found kind synthetic"):
        make_params(load={"mode": "trace"})


ARMS = [
    {"variable": "load.max_concurrency", "values": [1, 4], "series": "continuous", "repeats": 2},
    {
        "variable": "load.max_concurrency",
        "values": [1, 4],
        "series": "static in the engine",
        "set": {"engine.static_batching": True},
        "repeats": 2,
    },
]


def test_arms_move_the_same_variable_and_take_turns() -> None:
    plan = make_plan(make_params(sweep=ARMS))
    assert [(point.series, point.value, point.repeat) for point in plan] == [
        (arm, value, repeat)
        for repeat in (0, 1)
        for arm in ("continuous", "static in the engine")
        for value in (1, 4)
    ]
    assert [point.engine.static_batching for point in plan[:4]] == [None, None, True, True]
    assert plan[2].point_id == "002-max_concurrency-1-static-in-the-engine-r0"
    assert plan[2].place()["series"] == "static in the engine"
    assert len({point.seed for point in plan[:4]}) == 1


def test_an_arm_may_take_another_engine() -> None:
    other = {"engine": {"kind": "vllm", "model": "m"}, "engine.max_num_seqs": 8}
    arms = [ARMS[0], {**ARMS[1], "set": other}]
    engine = make_plan(make_params(sweep=arms))[2].engine
    assert (engine.kind, engine.model, engine.max_num_seqs) == ("vllm", "m", 8)
    assert engine.max_num_batched_tokens is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"series": None}, "sweep over load.max_concurrency has set and no series; name it"),
        ({"set": {"load.max_concurrency": 2}}, "load.max_concurrency is what moves"),
        ({"set": {"engine.max_num_seq": 2}}, r"set engine\.max_num_seq is not .*max_num_seqs\?"),
        ({"set": {"slo.ttft_s": 2}}, r"set slo\.ttft_s is not a parameter"),
        ({"set": {"engine": 3}}, "static in the engine: engine"),
        ({"set": {"engine": {"kind": "vllm", "fast": 1}}}, r"engine\.fast is not a parameter"),
    ],
)
def test_an_arm_that_cannot_be_meant(change: dict[str, object], told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        make_plan(make_params(sweep=[ARMS[0], {**ARMS[1], **change}]))


def test_params_that_climb_have_no_points_and_need_no_sweep() -> None:
    assert make_plan(make_params(notebook="verify")) == []
    assert make_plan(make_params(notebook="verify", sweep=[])) == []
    with pytest.raises(ParamsError, match="sweep needs a variable and its values, found none"):
        make_params(sweep=[])
