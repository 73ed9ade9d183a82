"""What holds for every kind: a fingerprint that stays, checks before launch, warm-up."""

from dataclasses import replace
from pathlib import Path

import pytest
from workloads import DATA, count_words, make_workload

from labkit.errors import ParamsError
from labkit.params.workload import WORKLOADS
from labkit.workload import Request, check_workload, fingerprint, generate, imitate

UNIFORM = {"kind": "uniform", "low": 7, "high": 9}
NORMAL = {"kind": "normal", "mean": 16.0, "stddev": 4.0, "low": 8, "high": 32}

KINDS: dict[str, dict[str, object]] = {
    "synthetic": {"num_requests": 3, "prompt_tokens": UNIFORM, "completion_tokens": NORMAL},
    "mixed": {"num_requests": 6, "long_share": 0.5, "long_prompt_tokens": NORMAL},
    "shared_prefix": {"num_requests": 4, "num_groups": 2, "prefix_tokens": 12},
    "multi_turn": {"num_tasks": 2, "num_turns": 3, "turn_tokens": UNIFORM, "history": "scripted"},
    "agent": {"num_tasks": 2, "num_steps": 3, "step_tokens": UNIFORM, "think_time_s": 0.1},
    "structured": {"num_requests": 2},
    "sharegpt": {"path": str(DATA / "sharegpt.json"), "num_requests": 4},
    "jsonl": {"path": str(DATA / "requests.jsonl"), "completion_tokens": UNIFORM},
    "trace": {"path": str(DATA / "mooncake.jsonl")},
}
HASHES = {
    "synthetic": "47480d7ef3c4b94c36c21a57df2895edc8b9a83e08321452e6e431efcc7f934c",
    "mixed": "eeffc8d29cad3800da676d9041b215f21968a38aa3bf52fac1a6d318d9f2a4e9",
    "shared_prefix": "d6614afcbbb7900cab0d3db4902d61767114e7ff035145fa48d8f5f082f729bd",
    "multi_turn": "8d07df09cf04dc7ff54ec115c21956c26ff1258f8f1bff8885139ff952adbac3",
    "agent": "5b2ef5ce7d47ae1dc7491547ad494a7c28ea9e9d1b96f1ac6457dcff6f58d312",
    "structured": "c90c3fa45c395f477e9649e37a10e583c2e60b515cca4d9a5a4671a38620609c",
    "sharegpt": "af7d6eb04a468e5daff985240dbc1da194e04e32552f18f68cc17fdc4f951fc6",
    "jsonl": "e0898edacea6a0f0db9e2d75c299bc1f250d0c9a6cd0e2c3ebc15c31b6d55e88",
    "trace": "7c344bed3951d88556b9e40dbabe6a2a9c51c7c08db58d16fc49bec0b6c22dc3",
}


def make_requests(kind: str) -> list[Request]:
    workload = make_workload(kind=kind, **KINDS[kind])
    return generate(workload, seed=7, salt="p0", count=count_words).requests


def test_every_kind_is_here() -> None:
    assert list(KINDS) == list(HASHES) == list(WORKLOADS)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_are_the_same_on_every_python(kind: str) -> None:
    assert fingerprint(make_requests(kind)) == HASHES[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_is_one_that_can_be_sent(kind: str) -> None:
    requests = make_requests(kind)
    assert len({r.request_id for r in requests}) == len(requests)
    assert {r.messages[-1][0] for r in requests} == {"user"}
    assert all(text.strip() for r in requests for _, text in r.messages)
    assert min(r.max_tokens for r in requests) >= 1
    if (number := make_workload(kind=kind, **KINDS[kind]).num_requests) is not None:
        assert len(requests) == number


def test_fingerprint_sees_every_field_and_the_order() -> None:
    base = Request("a", (("user", "one two"),), 3, 2)
    others = [
        replace(base, request_id="b"),
        replace(base, messages=(("system", "one two"),)),
        replace(base, messages=(("user", "one"), ("user", "two"))),
        replace(base, max_tokens=4),
        replace(base, prompt_tokens=None),
        replace(base, task_id="t"),
        replace(base, carry=True),
        replace(base, think_time_s=1.0),
        replace(base, offset_s=0.0),
        replace(base, response_format={"type": "json_object"}),
    ]
    assert len({fingerprint([r]) for r in [base, *others]}) == 11
    assert fingerprint([base, others[0]]) != fingerprint([others[0], base])


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_workload_passes_its_check(kind: str) -> None:
    check_workload(make_workload(kind=kind, **KINDS[kind]))


@pytest.mark.parametrize("kind", ["sharegpt", "jsonl", "trace"])
def test_a_file_that_is_not_there_is_told_before_launch(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fields = KINDS[kind] | {"num_requests": 2}
    with pytest.raises(ParamsError) as caught:
        check_workload(make_workload(kind=kind, **(fields | {"path": "none.json"})))
    told = f"workload.path: expected a file at none.json in {tmp_path}, found none"
    assert str(caught.value) == told
    with pytest.raises(ParamsError, match=r"found a folder$"):
        check_workload(make_workload(kind=kind, **(fields | {"path": str(tmp_path)})))
    Path("here.json").write_text(Path(str(KINDS[kind]["path"])).read_text("utf-8"), "utf-8")
    check_workload(make_workload(kind=kind, **(fields | {"path": "here.json"})))


@pytest.mark.parametrize(
    ("kind", "text"), [("jsonl", '{"prompt": 3}'), ("trace", "a,b\n"), ("trace", "{}")]
)
def test_a_damaged_file_is_told_before_launch(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError, match="line 1: expected"):
        check_workload(make_workload(kind=kind, path=str(path)))


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(ParamsError, match="expected UTF-8 in"):
        check_workload(make_workload(kind="jsonl", path=str(path)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_up_has_the_lengths_and_other_words(kind: str) -> None:
    requests = make_requests(kind)
    others = imitate(requests, len(requests) + 1, seed=7, salt="warm-up p0")
    assert [r.request_id for r in others[:2]] == ["w00000", "w00001"]
    pairs = list(zip([*requests, requests[0]], others, strict=True))
    for like, other in pairs:
        assert (other.prompt_tokens, other.max_tokens) == (like.prompt_tokens, like.max_tokens)
        assert len(other.messages[0][1].split()) == like.prompt_tokens
        assert other.response_format == like.response_format
        assert (other.task_id, other.carry, other.offset_s) == (None, False, None)
    heads = {" ".join(r.messages[0][1].split()[:6]) for r in others}
    assert len(heads) == len(others)
    assert not any(r.messages[0][1].startswith(tuple(heads)) for r in requests)
