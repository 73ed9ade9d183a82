"""Groups that share a system prompt: reuse within a point, none between points."""

from collections import Counter

import pytest
from workloads import make_workload

from labkit.params import WorkloadParams
from labkit.workload import Request, generate


def make(**changes: object) -> WorkloadParams:
    fields = {"num_requests": 90, "prefix_tokens": 40, "num_groups": 3, "prompt_tokens": 10}
    return make_workload(kind="shared_prefix", **(fields | changes))


def write(salt: str = "p0", **changes: object) -> list[Request]:
    return generate(make(**changes), seed=1, salt=salt).requests


def test_a_request_has_the_prefix_of_its_group_and_words_of_its_own() -> None:
    requests = write()
    prefixes = Counter(r.messages[0] for r in requests)
    assert len(prefixes) == 3
    assert {role for role, _ in prefixes} == {"system"}
    assert {len(text.split()) for _, text in prefixes} == {40}
    # 3 standard deviations of a binomial with n = 90, p = 1/3: 3 * sqrt(90 * 2 / 9) = 13.4.
    assert all(number == pytest.approx(30, abs=13) for number in prefixes.values())
    own = [r.messages[1] for r in requests]
    assert len(set(own)) == 90
    assert {(role, len(text.split())) for role, text in own} == {("user", 10)}
    assert {(r.prompt_tokens, r.max_tokens) for r in requests} == {(50, 8)}


def test_the_salt_is_in_front_of_each_prefix_alone() -> None:
    for one, two in zip(write("p0"), write("p1"), strict=True):
        assert one.messages[0][1].split()[:6] != two.messages[0][1].split()[:6]
        assert one.messages[0][1].split()[6:] == two.messages[0][1].split()[6:]
        assert one.messages[1] == two.messages[1]
    heads = {tuple(r.messages[0][1].split()[:6]) for r in write()}
    assert len(heads) == 3


def test_without_a_prefix_each_prompt_is_salted() -> None:
    requests = write(prefix_tokens=0)
    assert {(len(r.messages), r.messages[0][0], r.prompt_tokens) for r in requests} == {
        (1, "user", 10)
    }
    assert len({tuple(r.messages[0][1].split()[:6]) for r in requests}) == 90
    assert requests[0].messages[0][1].split()[6:] == write()[0].messages[1][1].split()[6:]


def test_a_request_does_not_depend_on_how_many_there_are() -> None:
    assert write(num_requests=2) == write()[:2]
