"""Recorded conversations: the spellings of the wild, and what is skipped for which reason."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from workloads import DATA, count_words, make_workload

from labkit.errors import ParamsError
from labkit.workload import Traffic, check_workload, generate

FILE = DATA / "sharegpt.json"
BROKEN = {
    "no conversation": 2,
    "does not begin with the user": 1,
    "empty prompt": 1,
    "no answer": 1,
    "broken turn": 1,
}


def draw(*, salt: str = "", seed: int = 1, counted: bool = True, **fields: object) -> Traffic:
    fields = {"kind": "sharegpt", "path": str(FILE), "num_requests": 5} | fields
    count = count_words if counted else None
    return generate(make_workload(**fields), seed=seed, salt=salt, count=count)


def test_prompts_and_lengths_are_those_of_the_file() -> None:
    traffic = draw()
    told = {r.messages: (r.prompt_tokens, r.max_tokens) for r in traffic.requests}
    assert told == {
        (("user", "Name three rivers of Europe."),): (5, 7),
        (("user", "What is two and two?"),): (5, 1),
        (("system", "You answer in rhyme."), ("user", "How is the weather?")): (8, 8),
        (("user", "Write one line about the sea.\nMake it short."),): (10, 4),
        (("user", " ".join(["word"] * 40)),): (40, 3),
    }
    assert traffic.source_sha256 == hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert traffic.lengths_from == "engine"


def test_whatever_is_broken_is_counted_with_its_reason() -> None:
    with pytest.raises(ParamsError) as caught:
        draw(num_requests=6)
    told = str(caught.value)
    assert f"expected 6 usable conversations in {FILE}, found 5; skipped: " in told
    assert all(f"{number} {reason}" in told for reason, number in BROKEN.items())
    assert "\n" not in told


def test_limits_skip_and_count() -> None:
    with pytest.raises(ParamsError, match="found 3; skipped: ") as caught:
        draw(max_prompt_tokens=10, max_completion_tokens=7)
    assert "1 prompt longer than max_prompt_tokens" in str(caught.value)
    assert "1 answer longer than max_completion_tokens" in str(caught.value)
    lengths = {r.prompt_tokens for r in draw(max_prompt_tokens=10, num_requests=4).requests}
    assert lengths == {5, 8, 10}


def test_the_order_is_drawn_and_fewer_are_the_first_of_more() -> None:
    orders = {tuple(r.messages for r in draw(seed=seed).requests) for seed in range(8)}
    assert len(orders) > 4
    assert draw(num_requests=2).requests == draw().requests[:2]


def test_only_records_that_were_met_on_the_way_are_counted() -> None:
    met = [sum(draw(seed=seed, num_requests=1).skipped.values()) for seed in range(8)]
    assert min(met) == 0
    assert max(met) <= sum(BROKEN.values()) == 6


def test_asked_completion_tokens_need_no_answer() -> None:
    traffic = draw(num_requests=6, completion_tokens=12)
    assert {r.max_tokens for r in traffic.requests} == {12}
    assert traffic.skipped.get("no answer") is None


def test_the_salt_is_in_front_and_counted() -> None:
    bare, one, two = draw().requests, draw(salt="p0").requests, draw(salt="p1").requests
    heads = set()
    for plain, salted in zip(bare * 2, one + two, strict=True):
        head, _, rest = salted.messages[0][1].partition("\n\n")
        assert rest == plain.messages[0][1]
        assert salted.messages[1:] == plain.messages[1:]
        assert plain.prompt_tokens is not None
        # 6 words and the empty line
        assert salted.prompt_tokens == plain.prompt_tokens + 7
        heads.add(head)
    assert len(heads) == 10


def test_an_engine_that_does_not_count() -> None:
    traffic = draw(counted=False, completion_tokens=12)
    assert {(r.prompt_tokens, r.max_tokens) for r in traffic.requests} == {(None, 12)}
    assert traffic.lengths_from == "file"
    with pytest.raises(ParamsError, match="completion_tokens is required"):
        draw(counted=False)
    with pytest.raises(ParamsError, match=r"workload\.max_prompt_tokens"):
        draw(counted=False, completion_tokens=12, max_prompt_tokens=3)


def test_lines_of_json_are_read_too(tmp_path: Path) -> None:
    records = json.loads(FILE.read_text(encoding="utf-8"))
    path = tmp_path / "lines.jsonl"
    lines = [json.dumps(record) for record in records]
    path.write_text("\n".join(["{broken", *lines, ""]), encoding="utf-8")
    assert {r.messages for r in draw(path=str(path)).requests} == {
        r.messages for r in draw().requests
    }
    with pytest.raises(ParamsError, match="3 no conversation"):
        draw(path=str(path), num_requests=6)


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text("[{", encoding="utf-8")
    with pytest.raises(ParamsError, match="expected JSON in"):
        draw(path=str(path))


ASK, GOOD = {"from": "human", "value": "a b"}, {"from": "gpt", "value": "c"}
HALF = "\ud800"
HOSTILE: list[tuple[Any, str]] = [
    (None, "no conversation"),
    (3, "no conversation"),
    ("text", "no conversation"),
    ([ASK, GOOD], "no conversation"),
    ({}, "no conversation"),
    ({"conversations": None}, "no conversation"),
    ({"conversations": "text"}, "no conversation"),
    ({"conversations": {"from": "human"}}, "no conversation"),
    ({"conversations": 3}, "no conversation"),
    ({"conversations": [None]}, "broken turn"),
    ({"conversations": [[[[]]]]}, "broken turn"),
    ({"conversations": [{"from": ["human"], "value": "a"}, GOOD]}, "broken turn"),
    ({"conversations": [{"from": "human", "value": 10**400}, GOOD]}, "broken turn"),
    ({"conversations": [{"from": "human"}, GOOD]}, "broken turn"),
    ({"conversations": [ASK, None]}, "broken turn"),
    ({"conversations": [ASK, {"from": "gpt", "value": float("nan")}]}, "broken turn"),
    ({"conversations": [{"from": HALF, "value": "a"}, GOOD]}, "does not begin with the user"),
    ({"conversations": [{"from": "system", "value": "a"}]}, "does not begin with the user"),
    ({"conversations": [{"from": "human", "value": "\u2028 \n"}, GOOD]}, "empty prompt"),
    (
        {"conversations": [{"from": "human", "value": f"a{HALF}"}, GOOD]},
        "prompt is no Unicode text",
    ),
    (
        {"conversations": [{"from": "system", "value": HALF}, ASK, GOOD]},
        "prompt is no Unicode text",
    ),
    ({"conversations": [ASK, {"from": "gpt", "value": HALF}]}, "no answer"),
    ({"conversations": [ASK, {"from": "gpt", "value": f"fine {HALF}"}]}, "no answer"),
    ({"conversations": [ASK, {"from": HALF, "value": "a"}]}, "no answer"),
    ({"conversations": [ASK, ASK]}, "no answer"),
    ({"conversations": [ASK, {"from": "gpt", "value": " "}]}, "no answer"),
]


def count_strictly(text: str) -> int:
    """Count as an engine does, which must be sent the text and so needs it as UTF-8."""
    return count_words(text.encode().decode())


@pytest.mark.parametrize("form", ["list", "lines"])
@pytest.mark.parametrize(("record", "reason"), HOSTILE)
def test_a_record_that_cannot_be_used_is_skipped_with_its_reason(
    record: Any, reason: str, form: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    records = [record, {"conversations": [ASK, GOOD]}]
    lines = "\n".join(json.dumps(one) for one in records)
    if form == "lines" and lines.startswith("["):
        lines = f"{json.dumps(records[1])}\n{json.dumps(record)}"  # else it would be a list
    path.write_text(json.dumps(records) if form == "list" else lines, encoding="utf-8")
    workload = make_workload(kind="sharegpt", path=str(path), num_requests=1)
    traffics = [generate(workload, seed=seed, salt="p", count=count_strictly) for seed in range(20)]
    assert {traffic.requests[0].messages[-1][1].split()[-1] for traffic in traffics} == {"b"}
    # the order is drawn, so that some meet the bad one first and the others never do
    assert {tuple(traffic.skipped.items()) for traffic in traffics} == {(), ((reason, 1),)}
    check_workload(workload)
    two = make_workload(kind="sharegpt", path=str(path), num_requests=2)
    for refuse in (
        check_workload,
        lambda one: generate(one, seed=1, salt="", count=count_strictly),
    ):
        with pytest.raises(ParamsError, match=rf"found 1; skipped: 1 {reason}$"):
            refuse(two)


def test_an_answer_that_is_no_text_needs_none_where_the_length_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "file"
    record = {"conversations": [ASK, {"from": "gpt", "value": HALF}]}
    path.write_text(json.dumps([record]), encoding="utf-8")
    traffic = draw(path=str(path), num_requests=1, completion_tokens=3)
    assert [(r.messages, r.max_tokens) for r in traffic.requests] == [((("user", "a b"),), 3)]


def test_an_answer_of_no_tokens_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps([{"conversations": [ASK, GOOD]}]), encoding="utf-8")
    workload = make_workload(kind="sharegpt", path=str(path), num_requests=1)
    with pytest.raises(ParamsError, match="skipped: 1 no answer"):
        generate(workload, seed=1, salt="", count=lambda text: 0 if text == "c" else 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("[" * 100_000, "found: it is nested too deeply", id="deep"),
        pytest.param("[" + "9" * 5000 + "]", "found: a number of thousands of digits", id="digits"),
        pytest.param("[{}] more", "found: Extra data", id="more"),
        pytest.param("[]", "found 0; skipped: none", id="none"),
        pytest.param("{}", "found 0; skipped: 1 no conversation", id="object"),
        pytest.param("null", "found 0; skipped: 1 no conversation", id="null"),
        pytest.param('{"a":' * 100_000, "skipped: 1 no conversation", id="deep line"),
        pytest.param(f'{{"a": {"9" * 5000}}}\n3', "skipped: 2 no conversation", id="lines"),
    ],
)
def test_a_file_of_nothing_usable_is_refused_in_one_line(
    text: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    for refuse in (check_workload, lambda one: generate(one, seed=1, salt="", count=count_words)):
        with pytest.raises(ParamsError) as caught:
            refuse(make_workload(kind="sharegpt", path=str(path), num_requests=1))
        assert told in str(caught.value)
        assert str(caught.value).isprintable()
