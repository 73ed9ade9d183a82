"""Runs as lines of a terminal: in line, cut to fit, and nothing that a terminal obeys."""

import pytest

from labkit.cli.table import make_lines
from labkit.listing import RunEntry

LONG = "max_num_seqs 8 gives the most output: " + "very " * 40


def entry(**changes: object) -> RunEntry:
    told = {
        "run_id": "20260101T000000Z-a-00000000",
        "name": "a",
        "status": "completed",
        "started_at": "2026-01-01T00:00:00+00:00",
        "engine": "vllm",
        "model": "Llama",
        "notebook": "sweep",
        "variables": ("engine.max_num_seqs", "load.max_concurrency"),
        "num_points": 3,
        "num_measured": 2,
        "verdicts": {"VALID": 1, "INVALID": 1},
        "headline": "It holds",
    }
    return RunEntry(**{**told, **changes})  # type: ignore[arg-type]


def test_columns_line_up_below_their_heads() -> None:
    damaged = RunEntry("20260102T000000Z-b", "expected JSON in manifest.json, found none")
    lines = list(make_lines([entry(), damaged], is_terminal=False))
    head, first, second = lines
    for name, told in (
        ("run", "20260101T000000Z-a-00000000"),
        ("started", "2026-01-01 00:00"),
        ("name", "a "),
        ("notebook", "sweep"),
        ("engine", "vllm"),
        ("model", "Llama"),
        ("variable", "max_num_seqs, max_concurrency"),
        ("points", "2 of 3"),
        ("verdict", "1 VALID, 1 INVALID"),
        ("found", "It holds"),
    ):
        assert first[head.index(name) :].startswith(told)
    assert second.endswith("  damaged: expected JSON in manifest.json, found none")
    assert second.index("damaged") == head.index("found")


def test_a_long_result_is_cut() -> None:
    head, line = make_lines([entry(headline=LONG)], is_terminal=False)
    assert len(line) <= head.index("found") + 80
    assert line.endswith("…")


@pytest.mark.parametrize(("width", "lost"), [(250, set()), (160, {"name", "started"})])
def test_a_narrow_terminal_keeps_room_for_the_result(
    monkeypatch: pytest.MonkeyPatch, width: int, lost: set[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    head, line = make_lines([entry(headline=LONG)], is_terminal=True)
    named = set(head.split())
    assert named | lost == set(next(make_lines([entry()], is_terminal=False)).split())
    assert not named & lost
    assert len(line) <= width


def test_what_became_of_a_run_stands_before_its_result() -> None:
    _, line = make_lines([entry(status="interrupted")], is_terminal=False)
    assert line.endswith("  interrupted: It holds")


def test_a_terminal_is_not_told_what_to_do() -> None:
    _, line = make_lines([entry(headline="\x1b[31mred\n\x07bell")], is_terminal=False)
    assert line.endswith("[31mred bell")
    assert line.isprintable()


def test_no_runs_no_lines() -> None:
    assert list(make_lines([], is_terminal=True)) == []
