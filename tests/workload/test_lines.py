"""Requests of the reader's own, a line each."""

import json
from pathlib import Path

import pytest
from workloads import DATA, count_words, make_workload

from labkit.errors import ParamsError
from labkit.workload import Request, Traffic, fingerprint, generate

FILE = DATA / "requests.jsonl"
GOOD = '{"prompt": "Hi", "max_tokens": 2}'


def read(path: Path = FILE, *, salt: str = "", counted: bool = True, **fields: object) -> Traffic:
    workload = make_workload(kind="jsonl", path=str(path), **fields)
    return generate(workload, seed=1, salt=salt, count=count_words if counted else None)


def test_requests_are_as_the_file_has_them() -> None:
    traffic = read()
    chat = (("system", "Be brief."), ("user", "Who are you?"))
    form = {"type": "json_object"}
    assert traffic.requests == [
        Request("r00000", (("user", "Say hello to the world."),), 5, 5),
        Request("r00001", chat, 7, 5),
        Request("r00002", (("user", "A JSON object, please."),), 9, 4, response_format=form),
    ]
    assert (traffic.skipped, traffic.lengths_from) == ({}, "engine")


def test_nobody_counts() -> None:
    traffic = read(counted=False)
    assert {r.prompt_tokens for r in traffic.requests} == {None}
    assert traffic.lengths_from == "file"


def test_the_first_so_many() -> None:
    assert read(num_requests=2).requests == read().requests[:2]
    with pytest.raises(ParamsError, match=r"expected 4 requests in .*, found 3"):
        read(num_requests=4)


def test_the_salt_is_the_same_in_front_of_all() -> None:
    heads = {r.messages[0][1].partition("\n\n")[0] for r in read(salt="p0").requests}
    assert len(heads) == 1
    assert len(heads.pop().split()) == 6
    assert read(salt="p0").requests[1].messages[1] == ("user", "Who are you?")


def test_lines_without_a_length_take_that_of_the_params(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "Hi"}\n' + GOOD, encoding="utf-8")
    assert [r.max_tokens for r in read(path, completion_tokens=6).requests] == [6, 2]


def test_a_format_needs_chat() -> None:
    with pytest.raises(ParamsError, match=r"line 4: response_format needs workload\.endpoint chat"):
        read(endpoint="completions")
    assert read(endpoint="completions", num_requests=2).requests == read().requests[:2]


def test_a_separator_within_a_text_is_no_end_of_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "one\u2028two", "max_tokens": 2}', encoding="utf-8")
    assert read(path).requests[0].messages == (("user", "one\u2028two"),)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("{", "expected JSON", id="not JSON"),
        pytest.param("[1]", "expected a JSON object", id="not an object"),
        pytest.param('{"max_tokens": 2}', "either prompt or messages", id="neither"),
        pytest.param('{"prompt": "a", "messages": []}', "either prompt or messages", id="both"),
        pytest.param('{"prompt": " ", "max_tokens": 2}', "expected prompt", id="blank"),
        pytest.param('{"prompt": ["a"], "max_tokens": 2}', "expected prompt", id="list"),
        pytest.param('{"messages": [], "max_tokens": 2}', "list of messages", id="no messages"),
        pytest.param('{"messages": ["a"], "max_tokens": 2}', "expected a role", id="text"),
        pytest.param(
            '{"messages": [{"role": "tool", "content": "a"}]}', "expected a role", id="role"
        ),
        pytest.param(
            '{"messages": [{"role": "assistant", "content": "a"}]}', "the assistant's", id="last"
        ),
        pytest.param('{"prompt": "a"}', "expected max_tokens here, or", id="no length"),
        pytest.param('{"prompt": "a", "max_tokens": 0}', "found 0", id="zero"),
        pytest.param('{"prompt": "a", "max_tokens": "8"}', 'found "8"', id="quoted"),
        pytest.param('{"prompt": "a", "max_tokens": [8]}', "found [8]", id="listed"),
        pytest.param(
            '{"prompt": "a", "max_tokens": 1, "completion_tokens": 2}', "a count", id="two lengths"
        ),
        pytest.param(
            '{"prompt": "a", "max_tokens": 1, "response_format": "json"}',
            "with a type",
            id="format",
        ),
        pytest.param('{"prompt": "a", "max_tokens": 1e400}', "found Infinity", id="infinite"),
        pytest.param('{"prompt": "a", "max_tokens": NaN}', "found NaN", id="NaN"),
        pytest.param('{"prompt": "a", "max_tokens": true}', "found true", id="true"),
        pytest.param('{"prompt": "a", "max_tokens": -1}', "found -1", id="negative"),
        pytest.param('{"prompt": "a", "max_tokens": 2.0}', "found 2.0", id="fraction"),
        pytest.param(
            '{"prompt": "a", "max_tokens": 10000001}', "a count up to 10,000,000", id="many"
        ),
        pytest.param(
            '{"prompt": "a", "max_tokens": ' + "9" * 4000 + "}", f"found {'9' * 57}...", id="huge"
        ),
        pytest.param(
            '{"prompt": "a", "completion_tokens": "\\ud800"}', 'found "\\ud800"', id="half"
        ),
        pytest.param('{"prompt": 3, "max_tokens": 1}', "be a text, found 3", id="number"),
        pytest.param('{"messages": "ab", "max_tokens": 1}', "list of messages", id="no list"),
        pytest.param('{"messages": {"role": "user"}}', "list of messages", id="object"),
        pytest.param(
            '{"messages": [{"role": ["user"], "content": "a"}]}', "expected a role", id="roles"
        ),
        pytest.param(
            '{"messages": [{"role": "\\ud800", "content": "a"}]}', "expected a role", id="half role"
        ),
        pytest.param(
            '{"messages": [{"role": "user", "content": null}]}', "text as content", id="no content"
        ),
        pytest.param('{"prompt": "a\\ud800", "max_tokens": 1}', "half a surr", id="half prompt"),
        pytest.param(
            '{"messages": [{"role": "system", "content": "\\udfff"},'
            ' {"role": "user", "content": "a"}], "max_tokens": 1}',
            "expected Unicode text",
            id="half system",
        ),
        pytest.param(
            '{"messages": [{"role": "user", "content": "a"},'
            ' {"role": "user", "content": "\\udfff"}], "max_tokens": 1}',
            "expected Unicode text",
            id="half later",
        ),
        pytest.param(
            '{"prompt": "a", "max_tokens": 1, "response_format": {"type": "x", "\\ud800": 1}}',
            "expected Unicode text",
            id="half format",
        ),
        pytest.param(
            '{"prompt": "a", "max_tokens": 1, "response_format": {"type": "x", "y": NaN}}',
            "found NaN",
            id="NaN format",
        ),
        pytest.param(
            '{"prompt": "a", "max_tokens": 1, "response_format": {"type": "x", "y": '
            + "[" * 900
            + "]" * 900
            + "}}",
            "nested at most 100 deep",
            id="deep format",
        ),
        pytest.param(
            '{"prompt": ' + "[" * 900 + "]" * 900 + ', "max_tokens": 1}', "...", id="deep prompt"
        ),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n", encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        read(path)
    assert f"{path} line 3: " in str(caught.value)
    assert told in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < len(str(path)) + 180


def test_a_format_as_deep_as_may_be_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    form = '{"type": "x", "y": ' + "[" * 99 + "]" * 99 + "}"
    line = f'{{"prompt": "a", "max_tokens": 1, "response_format": {form}}}'
    path.write_text(line, encoding="utf-8")
    traffic = read(path)
    assert traffic.requests[0].response_format == json.loads(form)
    assert len(fingerprint(traffic.requests)) == 64


def test_a_line_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"prompt": "{"a " * 200_000}", "max_tokens": 2}}', encoding="utf-8")
    assert [r.prompt_tokens for r in read(path).requests] == [200_000]
