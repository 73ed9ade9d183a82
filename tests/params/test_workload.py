"""Workloads in a params file: a section a kind, one line for a mistake."""

from pathlib import Path

import pytest

from labkit.errors import ParamsError
from labkit.params import (
    AgentParams,
    MixedParams,
    Params,
    SharedPrefixParams,
    SyntheticParams,
    list_paths,
    load_params,
    parse_params,
)
from labkit.params.workload import WORKLOADS
from labkit.plan import make_plan

LENGTHS = {"prompt_tokens": 16, "completion_tokens": 8}
SYNTHETIC = LENGTHS | {"num_requests": 8}
PREFIX = SYNTHETIC | {"kind": "shared_prefix", "prefix_tokens": 64}
AGENT = LENGTHS | {"kind": "agent", "num_tasks": 3, "num_steps": 4, "step_tokens": 5}


def make(workload: object, **sweep: object) -> Params:
    return parse_params(
        {
            "name": "small",
            "engine": {"kind": "llamacpp"},
            "workload": workload,
            "load": {"max_concurrency": 2},
            "sweep": sweep or {"variable": "engine.max_num_seqs", "values": [1, 2]},
        }
    )


def test_a_kind_left_out_is_synthetic() -> None:
    assert isinstance(make(SYNTHETIC).workload, SyntheticParams)
    assert isinstance(make(PREFIX).workload, SharedPrefixParams)


@pytest.mark.parametrize(
    ("workload", "number"),
    [
        (SYNTHETIC, 8),
        (PREFIX, 8),
        (AGENT, 12),
        (LENGTHS | {"kind": "multi_turn", "num_tasks": 3, "num_turns": 5, "turn_tokens": 9}, 15),
        ({"kind": "jsonl", "path": "a"}, None),
        ({"kind": "trace", "path": "a", "num_requests": 7}, 7),
    ],
)
def test_every_kind_tells_how_many_requests_there_are(
    workload: dict[str, object], number: int | None
) -> None:
    assert make(workload).workload.num_requests == number


@pytest.mark.parametrize("workload", [SYNTHETIC, PREFIX, AGENT, SYNTHETIC | {"kind": "structured"}])
def test_what_is_dumped_reads_back_the_same(workload: dict[str, object], tmp_path: Path) -> None:
    params = make(workload)
    path = tmp_path / "params.yaml"
    path.write_text(params.dump(), encoding="utf-8")
    assert load_params(path) == params
    assert load_params(path).digest() == params.digest()
    assert parse_params(params.model_dump()) == params


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        pytest.param(SYNTHETIC | {"kind": "synthetc"}, "did you mean synthetic?", id="kind"),
        pytest.param(SYNTHETIC | {"kind": None}, "known are synthetic, mixed", id="no kind"),
        pytest.param(
            SYNTHETIC | {"prompt_token": 3},
            "workload.prompt_token is not a parameter of kind synthetic; "
            "did you mean prompt_tokens?",
            id="typo",
        ),
        pytest.param(
            PREFIX | {"prefix_token": 3},
            "is not a parameter of kind shared_prefix; did you mean prefix_tokens?",
            id="typo of another kind",
        ),
        pytest.param(
            SYNTHETIC | {"num_groups": 3},
            "workload.num_groups belongs to kind shared_prefix, found kind synthetic",
            id="forgotten kind",
        ),
        pytest.param(
            AGENT | {"num_turns": 2}, "belongs to kind multi_turn, found kind agent", id="cousin"
        ),
        pytest.param(
            SYNTHETIC | {"kind": "mixed", "long_prompt_tokens": 9},
            "params: workload.long_share is required, found nothing",
            id="missing",
        ),
        pytest.param(
            SYNTHETIC | {"prompt_tokens": "long"},
            "params: workload.prompt_tokens: input should be a valid integer, found 'long'",
            id="type",
        ),
        pytest.param(
            SYNTHETIC | {"prompt_tokens": {"kind": "uniform", "low": 9, "high": 3}},
            "params: workload.prompt_tokens: low must be at most high, found 9 and 3",
            id="bounds",
        ),
        pytest.param(
            SYNTHETIC | {"prompt_tokens": {"kind": "uniform", "lo": 9, "low": 9, "high": 13}},
            "workload.prompt_tokens.lo is not a parameter; did you mean low?",
            id="distribution",
        ),
        pytest.param(
            SYNTHETIC | {"kind": "structured", "endpoint": "completions"},
            "params: workload.endpoint: input should be 'chat', found 'completions'",
            id="schema without chat",
        ),
        pytest.param(3, "params: workload: input should be", id="not a section"),
    ],
)
def test_a_mistake_is_told_in_one_line(workload: object, told: str) -> None:
    with pytest.raises(ParamsError) as caught:
        make(workload)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


BILLION = 1_000_000_000
TOO_LONG = "must be at most 10,000,000 tokens, longer than any model reads, found 1000000000"
UP_TO = {"kind": "uniform", "low": 1}
TURNS = LENGTHS | {"kind": "multi_turn", "num_tasks": 1, "num_turns": 2, "turn_tokens": 5}
MIXED = SYNTHETIC | {"kind": "mixed", "long_share": 0.5, "long_prompt_tokens": 9}
RECORDED = {"kind": "sharegpt", "path": "a", "num_requests": 1}


@pytest.mark.parametrize(
    ("workload", "place"),
    [
        (SYNTHETIC, "prompt_tokens"),
        (SYNTHETIC, "completion_tokens"),
        (SYNTHETIC | {"kind": "structured"}, "prompt_tokens"),
        (MIXED, "long_prompt_tokens"),
        (PREFIX, "prefix_tokens"),
        (TURNS, "turn_tokens"),
        (AGENT, "step_tokens"),
        (RECORDED, "completion_tokens"),
        ({"kind": "jsonl", "path": "a"}, "completion_tokens"),
    ],
)
def test_a_length_that_would_fill_the_memory_is_refused(
    workload: dict[str, object], place: str
) -> None:
    make(workload | {place: 10_000_000})
    with pytest.raises(ParamsError) as caught:
        make(workload | {place: BILLION})
    assert str(caught.value) == f"params: workload.{place}: {TOO_LONG}"
    if place == "prefix_tokens":
        return
    make(workload | {place: UP_TO | {"high": 10_000_000}})
    with pytest.raises(ParamsError) as caught:
        make(workload | {place: UP_TO | {"high": BILLION}})
    assert str(caught.value) == f"params: workload.{place}.high: {TOO_LONG}"


@pytest.mark.parametrize("part", ["mean", "stddev"])
def test_a_distribution_that_no_number_holds_is_refused(part: str) -> None:
    normal = {"kind": "normal", "low": 1, "high": 9, "mean": 5.0, "stddev": 1.0, part: 1e308}
    with pytest.raises(ParamsError, match=rf"workload\.prompt_tokens\.{part}: must be at most"):
        make(SYNTHETIC | {"prompt_tokens": normal})


def test_a_sweep_moves_what_the_kind_has() -> None:
    plan = make_plan(make(PREFIX, variable="workload.prefix_tokens", values=[0, 32]))
    moved = [point.workload for point in plan]
    assert all(isinstance(one, SharedPrefixParams) for one in moved)
    assert [one.model_dump()["prefix_tokens"] for one in moved] == [0, 32]
    plan = make_plan(make(SYNTHETIC, variable="workload.prompt_tokens", values=[8, 9]))
    assert [point.workload.model_dump()["prompt_tokens"] for point in plan] == [8, 9]


@pytest.mark.parametrize(
    ("variable", "values", "told"),
    [
        ("workload.prompt_token", [1], "did you mean workload.prompt_tokens?"),
        ("workload.prefix_tokens", [1], "belongs to kind shared_prefix, found kind synthetic"),
        ("workload.prompt_tokens", [8, BILLION], TOO_LONG),
        ("workload.prompt_tokens", [0], "sweep over workload.prompt_tokens: workload.prompt_tok"),
    ],
)
def test_a_sweep_that_cannot_be(variable: str, values: list[object], told: str) -> None:
    with pytest.raises(ParamsError) as caught:
        make_plan(make(SYNTHETIC, variable=variable, values=values))
    assert told in str(caught.value)


def test_overrides_reach_into_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(make(SYNTHETIC).dump(), encoding="utf-8")
    overrides = ["kind=mixed", "long_share=0.25", "long_prompt_tokens={kind: uniform, low: 3, "
                 "high: 5}"]  # fmt: skip
    workload = load_params(path, [f"workload.{one}" for one in overrides]).workload
    assert isinstance(workload, MixedParams)
    assert workload.long_share == 0.25
    agent = tmp_path / "agent.yaml"
    agent.write_text(make(AGENT).dump(), encoding="utf-8")
    moved = load_params(agent, ["workload.num_steps=9"]).workload
    assert isinstance(moved, AgentParams)
    assert moved.num_requests == 27


def test_paths_name_the_keys_of_every_kind_once() -> None:
    paths = list(list_paths())
    assert len(paths) == len(set(paths))
    for section in WORKLOADS.values():
        assert {f"workload.{key}" for key in section.model_fields} <= set(paths)


def test_the_sections_are_named_as_their_kinds() -> None:
    for kind, section in WORKLOADS.items():
        annotation = section.model_fields["kind"].annotation
        assert getattr(annotation, "__args__", None) == (kind,)
