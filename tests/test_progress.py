"""The line that tells a run, and how it is shown where nobody sees a cursor."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from labkit.progress import Follower, Story, show_duration

PLACE = {"variable": "engine.max_num_seqs", "series": None}
PLAN = [{**PLACE, "value": value, "launches": True} for value in (1, 4)]
EVENTS: list[dict[str, Any]] = [
    {"event": "run", "num_points": 2, "points": PLAN, "at_s": 0.0},
    {"event": "point", "number": 1, "repeat": 0, "at_s": 0.0, **PLACE, "value": 1},
    {"event": "ready", "at_s": 10.0},
    {"event": "warmup", "num_done": 1, "num_total": 2, "at_s": 11.0},
    {
        "event": "requests",
        "num_done": 4,
        "num_error": 1,
        "num_total": 16,
        "completion_tokens": 100,
        "elapsed_s": 5.0,
        "at_s": 16.0,
    },
    {"event": "point_end", "number": 1, "status": "ok", "error": None, "at_s": 36.0},
    {"event": "point", "number": 2, "repeat": 1, "at_s": 36.0, **PLACE, "value": 4, "series": "a"},
    {"event": "point_end", "number": 2, "status": "failed", "error": "no memory", "at_s": 37.0},
    {"event": "end", "at_s": 37.0},
]
LINES = [
    "2 points to measure",
    "point 1 of 2: max_num_seqs = 1: starting the engine",
    "point 1 of 2: max_num_seqs = 1: making the requests",
    "point 1 of 2: max_num_seqs = 1: warming up",
    # 12 requests at 1.25 s each; then 10 s of launch and 6 + 15 s of work
    "point 1 of 2: max_num_seqs = 1: 4 of 16 requests, 1 failed, 20 tokens/s, "
    "about 15 s left of this point, about 45 s in all",
    "point 1 of 2: max_num_seqs = 1: 4 of 16 requests, 1 failed, 20 tokens/s, "
    "about 35 s left in all",
    "point 2 of 2: max_num_seqs = 4, a, repeat 1: starting the engine, about 35 s left",
    "point 2 of 2: max_num_seqs = 4, a, repeat 1: failed: no memory",
    "all 2 points measured",
]


def test_the_line_after_each_event() -> None:
    story = Story()
    for event, line in zip(EVENTS, LINES, strict=True):
        story.hear(event)
        assert story.tell(event["at_s"]) == line


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, "1 s"), (7.4, "7 s"), (33, "35 s"), (91, "2 min"), (3000, "50 min"), (9000, "2.5 h")],
)
def test_a_duration_is_told_no_finer_than_it_is_known(seconds: float, told: str) -> None:
    assert show_duration(seconds) == told


class Screen(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress.jsonl"


def follow(path: Path) -> None:
    with Follower(path):
        path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS), encoding="utf-8")


def test_a_log_gets_a_line_every_few_seconds_and_each_failure(path, capsys) -> None:
    follow(path)
    assert capsys.readouterr().err.splitlines() == [
        LINES[0],
        LINES[-2],
        LINES[-1],
        "writing the report",
    ]


def test_a_terminal_gets_one_line_in_place_that_fits(path, monkeypatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    follow(path)
    kept = [text.rpartition("\x1b[2K")[2] for text in screen.getvalue().split("\n")]
    assert kept == [LINES[5], LINES[-2], LINES[-1], "writing the report", ""]
    passing = screen.getvalue().split("\r\x1b[2K")[1:]
    assert passing[4] == f"{LINES[4][:58]}…"
    assert all(len(text) < 60 for text in passing if not text.endswith("\n"))


def test_the_steps_of_a_ladder_are_told_one_by_one() -> None:
    story = Story()
    story.hear({"event": "step", "number": 2, "num_steps": 20, "title": "The address"})
    assert story.tell(1.0) == "step 2 of 20: The address"
    story.hear({"event": "end", "at_s": 2.0})
    assert story.tell(2.0) == "all steps taken"
