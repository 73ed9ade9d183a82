"""Requests that have nothing to do with each other: synthetic, mixed, structured."""

import pytest
from workloads import count_words, make_workload

from labkit.params import WorkloadParams
from labkit.workload import generate
from labkit.workload.draw import NUM_SALT_WORDS


def make(**changes: object) -> WorkloadParams:
    return make_workload(**{"num_requests": 20, **changes})


def write(workload: WorkloadParams, *, seed: int = 1, salt: str = "p0") -> list[list[str]]:
    """Return the words of each request's only message."""
    requests = generate(workload, seed=seed, salt=salt).requests
    assert {(len(r.messages), r.messages[0][0]) for r in requests} == {(1, "user")}
    return [request.messages[0][1].split(" ") for request in requests]


def test_lengths_are_as_asked() -> None:
    traffic = generate(make(), seed=1, salt="p0")
    assert len(traffic.requests) == 20
    assert {len(words) for words in write(make())} == {30}
    assert {(r.prompt_tokens, r.max_tokens) for r in traffic.requests} == {(30, 8)}
    assert traffic.requests[3].request_id == "r00003"
    assert (traffic.skipped, traffic.source_sha256, traffic.lengths_from) == ({}, None, "words")


def test_an_engine_that_counts_is_named() -> None:
    traffic = generate(make(), seed=1, salt="p0", count=count_words)
    assert traffic.lengths_from == "engine"
    assert traffic.requests == generate(make(), seed=1, salt="p0").requests


def test_same_arguments_same_requests_and_seeds_differ() -> None:
    assert write(make()) == write(make())
    assert write(make()) != write(make(), seed=2)


def test_a_salt_changes_the_first_words_and_nothing_else() -> None:
    one, two = write(make(), salt="p0"), write(make(), salt="p1")
    assert [words[NUM_SALT_WORDS:] for words in one] == [words[NUM_SALT_WORDS:] for words in two]
    assert len({tuple(words[:NUM_SALT_WORDS]) for words in one + two}) == 40


def test_no_salt_leaves_the_body_as_it_is() -> None:
    bare, salted = write(make(), salt="")[0], write(make())[0]
    assert bare[NUM_SALT_WORDS:] == salted[NUM_SALT_WORDS:]
    assert bare != salted


def test_a_prompt_shorter_than_the_salt_keeps_its_length() -> None:
    assert {len(words) for words in write(make(prompt_tokens=2))} == {2}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({}, id="synthetic"),
        pytest.param({"kind": "mixed", "long_share": 0.5, "long_prompt_tokens": 60}, id="mixed"),
        pytest.param({"kind": "structured"}, id="structured"),
    ],
)
def test_a_request_does_not_depend_on_how_many_there_are(kind: dict[str, object]) -> None:
    assert write(make(**kind))[:2] == write(make(**kind, num_requests=2))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"kind": "uniform"}, id="uniform"),
        pytest.param({"kind": "normal", "mean": 25.0, "stddev": 50.0}, id="normal"),
    ],
)
def test_distributions_keep_their_bounds_and_reach_them(kind: dict[str, object]) -> None:
    workload = make(num_requests=300, prompt_tokens={"low": 20, "high": 30} | kind)
    counts = [r.prompt_tokens for r in generate(workload, seed=1, salt="").requests]
    assert (min(map(int, counts)), max(map(int, counts))) == (20, 30)
    assert [len(words) for words in write(workload, salt="")] == counts


def test_normal_has_its_mean() -> None:
    lengths = {"kind": "normal", "mean": 100.0, "stddev": 10.0, "low": 1, "high": 200}
    workload = make(num_requests=1000, completion_tokens=lengths)
    requests = generate(workload, seed=1, salt="").requests
    assert sum(r.max_tokens for r in requests) / 1000 == pytest.approx(100.0, abs=1.0)


def test_a_share_of_prompts_is_long_and_a_larger_share_keeps_them() -> None:
    def find_long(share: float) -> set[int]:
        workload = make(kind="mixed", num_requests=400, long_share=share, long_prompt_tokens=200)
        lengths = [len(words) for words in write(workload)]
        assert set(lengths) <= {30, 200}
        return {index for index, length in enumerate(lengths) if length == 200}

    few, many = find_long(0.1), find_long(0.3)
    assert few < many
    # 3 standard deviations of a binomial with n = 400: 3 * sqrt(400 * 0.1 * 0.9) = 18.
    assert len(few) == pytest.approx(40, abs=18)
    assert len(many) == pytest.approx(120, abs=27)
    assert not find_long(0.0)
    assert len(find_long(1.0)) == 400


def test_structured_asks_for_the_schema() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    workload = make(kind="structured", json_schema=schema)
    request = generate(workload, seed=1, salt="p0").requests[0]
    assert request.response_format == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True},
    }
    assert workload.endpoint == "chat"
    free = generate(make(kind="structured", constrained=False), seed=1, salt="p0").requests[0]
    assert free.response_format is None
    usual = generate(make(kind="structured"), seed=1, salt="p0").requests[0].response_format
    assert usual is not None
    assert usual["json_schema"]["schema"]["required"] == ["title", "category", "urgent", "items"]
