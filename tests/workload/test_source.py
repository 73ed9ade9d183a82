"""Files as they come: what is no file, no text, no JSON, or more than can be read."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import ParamsError
from labkit.workload.source import (
    MAX_DEPTH,
    Source,
    check_source,
    is_sendable,
    is_shallow,
    list_lines,
    parse_json,
    read_objects,
    read_source,
    shorten,
)


def nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def make(text: str) -> Source:
    return Source("f", text, "")


def test_a_file_is_read_without_its_mark_and_hashed_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = b"\xef\xbb\xbf{}\r\n"
    path.write_bytes(data)
    assert read_source(str(path)) == Source(str(path), "{}\r\n", hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("path", "told"),
    [
        pytest.param("~nobody-of-this-name/a", "Could not determine home", id="home"),
        pytest.param("a" * 5000, "File name too long", id="long"),
        pytest.param("~\ud800/a", "surrogates not allowed", id="surrogate"),
        pytest.param("a\0b", "found none", id="nul"),
    ],
)
def test_a_path_that_can_be_none_is_refused_in_a_short_line(path: str, told: str) -> None:
    with pytest.raises(ParamsError, match=rf"^workload\.path: expected a file.*{told}") as caught:
        check_source(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"], ids=["0", "blank", "mark"])
def test_a_file_without_a_word_is_empty(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(ParamsError, match=r"expected records in .*, found an empty file$"):
        read_source(str(path))


@pytest.mark.parametrize(
    "data",
    [b'{"a": "\xff"}', b"\xc3", b"\xed\xa0\x80", b"P\0K\xfe"],
    ids=["no start", "cut", "half a pair", "binary"],
)
def test_bytes_that_are_no_utf8_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(
        ParamsError, match=r"^workload\.path: expected UTF-8 in .*, found: "
    ) as told:
        read_source(str(path))
    assert "\n" not in str(told.value)


def test_only_line_feeds_end_lines_and_blank_ones_are_counted_but_left_out() -> None:
    told = list(list_lines(make("a\u2028b\r\n \n\x0cc\n\nd\x85")))
    assert told == [(1, "a\u2028b\r"), (3, "\x0cc"), (5, "d\x85")]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("[" * 100_000, "expected JSON, found: it is nested too deeply", id="lists"),
        pytest.param('{"a":' * 100_000, "it is nested too deeply", id="objects"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "a number of thousands of digits", id="digits"),
        pytest.param('{"a": 1} {"a": 2}', "expected JSON, found: Extra data", id="two"),
        pytest.param('{"a": "\t"}', "Invalid control character", id="control"),
        pytest.param("null", "expected a JSON object, found null", id="null"),
        pytest.param("3", "expected a JSON object, found 3", id="number"),
        pytest.param('"x"', 'expected a JSON object, found "x"', id="text"),
        pytest.param('"\\ud800"', 'expected a JSON object, found "\\ud800"', id="surrogate"),
    ],
)
def test_a_line_that_is_no_object_is_named_by_its_number(line: str, told: str) -> None:
    with pytest.raises(ParamsError) as caught:
        list(read_objects(make(f"{{}}\n\n{line}")))
    assert str(caught.value).startswith("f line 3: ")
    assert told in str(caught.value)
    assert len(str(caught.value)) < 120
    assert str(caught.value).isprintable()


def test_a_huge_number_is_still_a_number_below_pythons_limit() -> None:
    assert parse_json("9" * 4300) == 10**4300 - 1
    with pytest.raises(ValueError, match="thousands of digits"):
        parse_json("9" * 4301)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("text", True),
        ([("user", "é\u2028\0")], True),
        ({"a": [1, 1.5, None, True]}, True),
        ("\ud800", False),
        ("a\udfff", False),
        ([("user", "\ud83d")], False),
        ({"\ud800": 1}, False),
        ({"a": float("nan")}, False),
        ([float("inf")], False),
    ],
)
def test_what_can_be_sent(value: Any, told: bool) -> None:
    assert is_sendable(value) is told


def test_a_depth_is_counted_through_lists_and_objects() -> None:
    assert is_shallow(1, 0)
    assert not is_shallow([1], 0)
    assert is_shallow([1, {"a": 2}, []], 2)
    assert not is_shallow([1, {"a": [2]}], 2)
    assert is_shallow(nest(MAX_DEPTH))
    assert not is_shallow(nest(MAX_DEPTH + 1))
    assert not is_shallow(nest(100_000))


def test_a_value_is_shown_in_sixty_characters() -> None:
    assert shorten({"a": "\n\ud800"}) == r'{"a": "\n\ud800"}'
    assert shorten("x" * 58) == json.dumps("x" * 58)
    assert shorten("x" * 59) == '"' + "x" * 56 + "..."
    assert shorten(nest(100_000)) == "a value that is nested too deeply"
