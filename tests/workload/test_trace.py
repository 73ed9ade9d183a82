"""Traces: when, how long, and which prefixes are shared."""

from pathlib import Path

import pytest
from workloads import DATA, count_words, make_workload

from labkit.errors import ParamsError
from labkit.workload import Traffic, generate

HEAD = "Timestamp,Request tokens,Response tokens\n"
MOONCAKE, BURSTGPT = DATA / "mooncake.jsonl", DATA / "burstgpt.csv"


def replay(path: Path, *, salt: str = "p0", counted: bool = False, **fields: object) -> Traffic:
    workload = make_workload(kind="trace", path=str(path), **fields)
    return generate(workload, seed=1, salt=salt, count=count_words if counted else None)


def list_words(traffic: Traffic) -> list[list[str]]:
    assert {(len(r.messages), r.messages[0][0]) for r in traffic.requests} == {(1, "user")}
    return [r.messages[0][1].split(" ") for r in traffic.requests]


def count_shared(one: list[str], two: list[str]) -> int:
    pairs = zip(one, two, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))


def test_mooncake_times_and_lengths() -> None:
    traffic = replay(MOONCAKE)
    assert [(r.offset_s, r.prompt_tokens, r.max_tokens) for r in traffic.requests] == [
        (0.0, 1100, 20),
        (0.25, 1030, 5),
        (3.0, 40, 300),
        (3.5, 520, 8),
    ]
    assert [len(words) for words in list_words(traffic)] == [1100, 1030, 40, 520]
    assert traffic.skipped == {"failed, no response tokens": 1}
    assert traffic.lengths_from == "words"
    assert replay(MOONCAKE, counted=True).lengths_from == "engine"


def test_the_same_block_is_the_same_text() -> None:
    first, second, other, last = list_words(replay(MOONCAKE))
    # Blocks 1 and 2 are shared, 3 and 4 differ at once or after a word that is the same by chance.
    assert 1024 <= count_shared(first, second) <= 1026
    assert 512 <= count_shared(first, last) <= 514
    # The salt is the same for the whole point, and there is no more in common.
    assert 6 <= count_shared(first, other) <= 8


def test_the_salt_of_a_trace_with_blocks_is_in_front_once() -> None:
    one, two = list_words(replay(MOONCAKE, salt="p0")), list_words(replay(MOONCAKE, salt="p1"))
    assert len({tuple(words[:6]) for words in one}) == 1
    assert one[0][:6] != two[0][:6]
    assert [words[6:] for words in one] == [words[6:] for words in two]


def test_burstgpt_times_and_lengths() -> None:
    traffic = replay(BURSTGPT)
    assert [(r.offset_s, r.prompt_tokens, r.max_tokens) for r in traffic.requests] == [
        (0.0, 20, 9),
        (0.5, 200, 30),
        (5.0, 15, 4),
        (63.0, 16, 5),
    ]
    assert traffic.skipped == {"failed, no response tokens": 1}
    assert len({tuple(words[:6]) for words in list_words(traffic)}) == 4


def test_limits_skip_and_count() -> None:
    traffic = replay(BURSTGPT, max_prompt_tokens=100, max_completion_tokens=8, duration_s=58.0)
    # The first that is kept came at 12 s; 70 s is 58 s later, which is no longer within.
    assert [(r.offset_s, r.prompt_tokens) for r in traffic.requests] == [(0.0, 15)]
    assert traffic.skipped == {
        "failed, no response tokens": 1,
        "answer longer than max_completion_tokens": 1,
        "prompt longer than max_prompt_tokens": 1,
        "later than duration_s": 1,
    }
    few = replay(BURSTGPT, num_requests=3)
    assert few.requests == replay(BURSTGPT).requests[:3]
    assert few.skipped["more than num_requests"] == 1


def test_too_few_are_refused() -> None:
    with pytest.raises(
        ParamsError, match=r"expected 5 usable records in .*, found 4; skipped: 1 f"
    ):
        replay(BURSTGPT, num_requests=5)
    with pytest.raises(ParamsError, match=r"expected some usable records in .*, found 0"):
        replay(BURSTGPT, max_prompt_tokens=1)


def test_records_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    lines = BURSTGPT.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "b.csv"
    path.write_text("\r\n".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")
    assert replay(path).requests == replay(BURSTGPT).requests


def test_what_the_blocks_do_not_cover_is_each_requests_own(tmp_path: Path) -> None:
    line = '{"timestamp": 0, "input_length": 600, "output_length": 2, "hash_ids": [1]}\n'
    bare = '{"timestamp": 1, "input_length": 20, "output_length": 2}\n'
    path = tmp_path / "m.jsonl"
    path.write_text(line + line + bare, encoding="utf-8")
    one, two, three = list_words(replay(path))
    assert (len(one), len(two), len(three)) == (600, 600, 20)
    assert 512 <= count_shared(one, two) <= 514


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "line 1: expected Mooncake's JSON or BurstGPT's columns, found no Time"),
        ("Timestamp,Request tokens,Response tokens\n1,2\n", "line 2: expected Response tokens"),
        ("Timestamp,Request tokens,Response tokens\nx,2,3\n", 'number from 0 up, found "x"'),
        ("Timestamp,Request tokens,Response tokens\n1,2.5,3\n", "whole number, found 2.5"),
        ('{"timestamp": -1, "input_length": 1, "output_length": 1}', "from 0 up, found -1"),
        ('{"timestamp": true, "input_length": 1, "output_length": 1}', "found true"),
        ('{"timestamp": NaN, "input_length": 1, "output_length": 1}', "found NaN"),
        ('{"timestamp": 1, "output_length": 1}', "input_length to be a number"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": ["a"]}', "hash_ids"),
        ('{"timestamp": 1, "input', "line 1: expected JSON"),
        ("\n \n", "found an empty file"),
        ('{"timestamp": 1e400, "input_length": 1, "output_length": 1}', "found Infinity"),
        (f'{{"timestamp": {"9" * 400}, "input_length": 1}}', f"up, found {'9' * 57}..."),
        (f'{{"timestamp": {"9" * 5000}}}', "line 1: expected JSON, found: a number of thousands"),
        ('{"timestamp": {}, "input_length": 1, "output_length": 1}', "found {}"),
        ('{"timestamp": [1], "input_length": 1, "output_length": 1}', "found [1]"),
        ('{"timestamp": "\\ud800", "input_length": 1}', 'found "\\ud800"'),
        ('{"timestamp": 1, "input_length": -2, "output_length": 1}', "from 0 up, found -2"),
        ('{"timestamp": 1, "input_length": 10000001, "output_length": 1}', "at most 10,000,000"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1e300}', "at most 10,000,000"),
        ('{"timestamp": 1, "input_length": 1, "output_length": NaN}', "output_length to be a"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": 3}', "hash_ids"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": {}}', "hash_ids"),
        ('{"timestamp": 1, "hash_ids": ' + "[" * 900 + "]" * 900 + "}", "found [[["),
        ('{"a":' * 100_000, "line 1: expected JSON, found: it is nested too deeply"),
        ("{}\n[1]", "line 1: expected timestamp to be a number from 0 up, found null"),
        ("[1]", "expected Mooncake's JSON or BurstGPT's columns"),
        ("null", "expected Mooncake's JSON or BurstGPT's columns"),
        ("[" * 100_000, "expected Mooncake's JSON or BurstGPT's columns"),
        (f"{HEAD}nan,2,3\n", 'line 2: expected Timestamp to be a number from 0 up, found "nan"'),
        (f"{HEAD}inf,2,3\n", 'found "inf"'),
        (f"{HEAD}-1,2,3\n", 'from 0 up, found "-1"'),
        (f"{HEAD}1e400,2,3\n", 'found "1e400"'),
        (f"{HEAD}1,{'9' * 5000},3\n", f'from 0 up, found "{"9" * 56}...'),
        (f"{HEAD}1,2\0,3\n", 'found "2\\u0000"'),
        (f'{HEAD}1,2,3\n"1,2,3\n4,5,6\n', 'Timestamp to be a number from 0 up, found "1,2,3'),
        (f"{HEAD}1,2,3\n{'1' * 200_000},2,3\n", "line 3: expected a line of CSV, found: field"),
        ('"' + "x" * 200_000, "line 1: expected a line of CSV, found: field larger"),
        (HEAD, "expected some usable records in"),
    ],
)
def test_a_damaged_trace_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "t"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        replay(path)
    assert told in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < len(str(path)) + 200


def test_a_record_that_asked_for_nothing_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{HEAD}1,0,3\n2,3,0\n3,4,5\n", encoding="utf-8")
    traffic = replay(path)
    assert [r.prompt_tokens for r in traffic.requests] == [4]
    assert traffic.skipped == {"empty prompt": 1, "failed, no response tokens": 1}
