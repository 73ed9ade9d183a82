import hashlib
import re

import pytest

from labkit.params import Distribution, WorkloadParams
from labkit.workload import Request, fingerprint, generate
from labkit.workload.synthetic import NUM_SALT_WORDS, WORDS


def make(**changes: object) -> WorkloadParams:
    fields = {"num_requests": 20, "prompt_tokens": 30, "completion_tokens": 8} | changes
    return WorkloadParams.model_validate(fields)


def test_words_are_distinct_plain_and_enough() -> None:
    # Each of exactly these words was held against SmolLM2's tokenizer (vocabulary of 49,152): it is
    # one token at the start and one after a blank. Prompts of 9 to 46 words came back from the
    # engine's usage as 9 to 46 tokens. Whoever changes the list has to ask an engine again.
    digest = hashlib.sha256(" ".join(WORDS).encode()).hexdigest()
    assert digest == "b6752ce1704ede9982094a6f0867ec3c70227ac9a202956cd1f28d41aaa59bf6"
    assert len(WORDS) == len(set(WORDS)) == 200
    assert all(re.fullmatch("[a-z]{3,11}", word) for word in WORDS)


def test_lengths_are_as_asked() -> None:
    requests = generate(make(), seed=1, salt="p0")
    assert len(requests) == 20
    assert {len(r.prompt.split(" ")) for r in requests} == {30}
    assert {(r.prompt_tokens, r.max_tokens) for r in requests} == {(30, 8)}
    assert requests[3].request_id == "r00003"


def test_same_arguments_same_requests_and_seeds_differ() -> None:
    first = generate(make(), seed=1, salt="p0")
    assert first == generate(make(), seed=1, salt="p0")
    assert first != generate(make(), seed=2, salt="p0")


def test_requests_are_the_same_on_every_python() -> None:
    workload = make(
        num_requests=3,
        prompt_tokens=Distribution(kind="uniform", low=7, high=9),
        completion_tokens=Distribution(kind="normal", mean=16.0, stddev=4.0, low=8, high=32),
    )
    requests = generate(workload, seed=7, salt="p0")
    assert (
        fingerprint(requests) == "9336853a9816b4ca34acd435e39e62c7aec87d713248c6dc58ba3f30db37859a"
    )


def test_a_salt_changes_the_first_words_and_nothing_else() -> None:
    one = generate(make(), seed=1, salt="p0")
    two = generate(make(), seed=1, salt="p1")
    for a, b in zip(one, two, strict=True):
        assert a.prompt.split()[NUM_SALT_WORDS:] == b.prompt.split()[NUM_SALT_WORDS:]
    heads = [tuple(r.prompt.split()[:NUM_SALT_WORDS]) for r in one + two]
    assert len(set(heads)) == 40


def test_no_salt_leaves_the_body_as_it_is() -> None:
    bare = generate(make(), seed=1, salt="")
    salted = generate(make(), seed=1, salt="p0")
    assert bare[0].prompt.split()[NUM_SALT_WORDS:] == salted[0].prompt.split()[NUM_SALT_WORDS:]
    assert bare[0].prompt != salted[0].prompt


def test_a_prompt_shorter_than_the_salt_keeps_its_length() -> None:
    requests = generate(make(prompt_tokens=2), seed=1, salt="p0")
    assert {len(r.prompt.split()) for r in requests} == {2}


def test_a_request_does_not_depend_on_how_many_there_are() -> None:
    few = generate(make(num_requests=2), seed=1, salt="p0")
    assert generate(make(), seed=1, salt="p0")[:2] == few


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"kind": "uniform"}, id="uniform"),
        pytest.param({"kind": "normal", "mean": 25.0, "stddev": 50.0}, id="normal"),
    ],
)
def test_distributions_keep_their_bounds_and_reach_them(kind: dict[str, object]) -> None:
    lengths = Distribution.model_validate({"low": 20, "high": 30} | kind)
    requests = generate(make(num_requests=300, prompt_tokens=lengths), seed=1, salt="")
    counts = [r.prompt_tokens for r in requests]
    assert (min(counts), max(counts)) == (20, 30)
    assert [len(r.prompt.split()) for r in requests] == counts


def test_normal_has_its_mean() -> None:
    lengths = Distribution(kind="normal", mean=100.0, stddev=10.0, low=1, high=200)
    requests = generate(make(num_requests=1000, completion_tokens=lengths), seed=1, salt="")
    assert sum(r.max_tokens for r in requests) / 1000 == pytest.approx(100.0, abs=1.0)


def test_fingerprint_sees_every_field() -> None:
    base = Request("a", "one two", 2, 3)
    others = [
        Request("b", "one two", 2, 3),
        Request("a", "one", 2, 3),
        Request("a", "one two", 1, 3),
        Request("a", "one two", 2, 4),
    ]
    assert len({fingerprint([r]) for r in [base, *others]}) == 5
    assert fingerprint([base, others[0]]) != fingerprint([others[0], base])
