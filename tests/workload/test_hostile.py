"""Files that are broken or made to harm: one line that says where, or a skip with its reason."""

import json
from pathlib import Path

import pytest
from workloads import count_words, make_workload

from labkit.errors import ParamsError
from labkit.params import parse_params
from labkit.workload import Traffic, generate

DEEP = "[" * 200_000
HALF = "\\ud800"
"""Half of a surrogate pair as JSON may spell it; no UTF-8 can carry it."""
GOOD = {"conversations": [{"from": "human", "value": "Go on."}, {"from": "gpt", "value": "I do."}]}
KINDS: dict[str, dict[str, object]] = {
    "sharegpt": {"num_requests": 1},
    "jsonl": {"completion_tokens": 4},
    "trace": {},
}


def load(kind: str, path: Path, **fields: object) -> Traffic:
    workload = make_workload(kind=kind, path=str(path), **{**KINDS[kind], **fields})
    return generate(workload, seed=1, salt="p0", count=count_words)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "found an empty file"),
        (b"\xef\xbb\xbf \n", "found an empty file"),
        (b"\xff\xfe{\x00", "expected UTF-8"),
        (b'"text"', ""),
        (b"null", ""),
        (b"7", ""),
        (b"{}", ""),
        (b"[]", ""),
        (b"[1, 2]", ""),
        (DEEP.encode(), ""),
        (b'{"a":' * 100_000, ""),
        (b"\x00\x00\x00", ""),
        (b'{"timestamp": 1e999, "input_length": 1e400, "output_length": 1}', ""),
    ],
)
def test_a_file_of_the_wrong_sort_is_refused_in_a_line(
    tmp_path: Path, kind: str, data: bytes, told: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ParamsError) as caught:
        load(kind, path)
    message = str(caught.value)
    assert told in message
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_and_nothing_at_all(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ParamsError, match="found a folder"):
        load(kind, tmp_path)
    with pytest.raises(ParamsError, match="expected a file at"):
        load(kind, tmp_path / "none")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (None, "no conversation"),
        (7, "no conversation"),
        ({}, "no conversation"),
        ({"conversations": "Go on."}, "no conversation"),
        ({"conversations": []}, "no conversation"),
        ({"conversations": [None]}, "broken turn"),
        ({"conversations": [{"from": "human"}]}, "broken turn"),
        ({"conversations": [{"from": 1, "value": "Go on."}]}, "broken turn"),
        ({"conversations": [{"from": "human", "value": 1}]}, "broken turn"),
        ({"conversations": [{"from": "gpt", "value": "I do."}]}, "does not begin with the user"),
        ({"conversations": [{"from": "human", "value": " \n"}]}, "empty prompt"),
        ({"conversations": [{"from": "human", "value": "Go on."}]}, "no answer"),
        (
            {"conversations": [{"from": "human", "value": "\ud800"}, GOOD["conversations"][1]]},
            "prompt is no Unicode text",
        ),
        (
            {"conversations": [GOOD["conversations"][0], {"from": "gpt", "value": "\ud800"}]},
            "no answer",
        ),
        (
            {"conversations": [{"from": "system", "value": "\udfff"}, *GOOD["conversations"]]},
            "prompt is no Unicode text",
        ),
    ],
)
def test_a_broken_conversation_is_skipped_with_its_reason(
    tmp_path: Path, broken: object, reason: str
) -> None:
    path = tmp_path / "share.json"
    path.write_text(json.dumps([broken, GOOD]), encoding="utf-8")
    with pytest.raises(ParamsError, match=rf"found 1; skipped: 1 {reason}$"):
        load("sharegpt", path, num_requests=2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"prompt": "' + HALF + '"}', "half a surrogate pair"),
        ('{"messages": [{"role": "user", "content": "' + HALF + '"}]}', "half a surrogate pair"),
        (
            '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "'
            + HALF + '"}, {"role": "user", "content": "b"}]}',
            "half a surrogate pair",
        ),
        ('{"prompt": "a", "max_tokens": 0}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": -1}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": 1.5}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": true}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": 1e9}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": 99999999999999999999}', "max_tokens to be a count"),
        ('{"prompt": "a", "max_tokens": 1, "completion_tokens": 2}', "found 1 and 2"),
        ('{"prompt": "a", "messages": []}', "either prompt or messages"),
        ('{"prompt": 1}', "prompt to be a text"),
        ('{"prompt": "' + "a" * 10 + '"', "expected JSON"),
        ('{"messages": [{"role": "robot", "content": "a"}]}', "expected a role of"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "last message to be the user's"),
        ('{"prompt": "a", "response_format": "json"}', "an object with a type"),
        ('{"prompt": "a", "response_format": {"type": "x", "n": NaN}}', "found NaN"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_by_its_number(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(f'{{"prompt": "fine"}}\n\n{line}\n', encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        load("jsonl", path)
    assert f"{path} line 3: " in str(caught.value)
    assert told in str(caught.value)


def test_a_schema_needs_the_chat_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"prompt": "a", "response_format": {"type": "json_object"}}\n')
    with pytest.raises(ParamsError, match=r"line 1: response_format needs workload.endpoint chat"):
        load("jsonl", path, endpoint="completions")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("-1,5,5", "from 0 up"),
        ("nan,5,5", "from 0 up"),
        ("inf,5,5", "from 0 up"),
        ("1,1e12,5", "at most 10,000,000"),
        ("1,5,99999999999999999999", "at most 10,000,000"),
        ("1,-5,5", "from 0 up"),
        ("1,5," + "9" * 5000, "from 0 up"),
        ('1,"5,5', "expected"),
        ("1," + "5" * 200_000 + ",5", "field larger than field limit"),
    ],
)
def test_a_bad_row_is_refused_by_its_number(tmp_path: Path, row: str, told: str) -> None:
    path = tmp_path / "burst.csv"
    path.write_text(f"Timestamp,Request tokens,Response tokens\n0,5,5\n{row}\n", encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        load("trace", path)
    assert f"{path} line " in str(caught.value)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens"])
@pytest.mark.parametrize("asked", [10**9, {"kind": "uniform", "low": 1, "high": 10**9}])
def test_an_absurd_length_is_refused_before_a_word_is_drawn(field: str, asked: object) -> None:
    workload = {"num_requests": 1, "prompt_tokens": 8, "completion_tokens": 2, field: asked}
    sweep = {"variable": "load.max_concurrency", "values": [1]}
    document = {"name": "a", "engine": {"kind": "llamacpp"}, "workload": workload, "sweep": sweep}
    with pytest.raises(ParamsError, match=rf"workload\.{field}.*10,000,000"):
        parse_params({**document, "load": {"max_concurrency": 1}})
