"""A run that searches: its plan grows from what was recorded, and goes on where it stopped."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from labkit import held
from labkit import run as running
from labkit.params import parse_params
from labkit.plan import make_plan
from labkit.progress import Story
from labkit.records import RunFolder
from labkit.request import create_run, explain_searches
from labkit.run import measure
from labkit.search import make_decide

PARAMS = {
    "name": "small",
    "engine": {"kind": "llamacpp"},
    "workload": {"num_requests": 10, "prompt_tokens": 8, "completion_tokens": 2},
    "load": {"mode": "open", "request_rate_per_s": 1.0},
    "sweep": {
        "variable": "load.request_rate_per_s",
        "search": {"low": 1.0, "high": 16.0, "tolerance": 0.5},
    },
    "slo": {"ttft_s": 1.0},
}
FOUND = [1.0, 16.0, 4.0, 8.0, 5.66]
"""Of an engine that holds up to 7: 8 / 5.66 - 1 is 41 %."""


@pytest.fixture(autouse=True)
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """No engine is launched and no process sends; what would have been launched is kept."""
    asked: list[Any] = []

    @contextmanager
    def open_engine(params: object, *, folder: Path) -> Iterator[Any]:
        asked.append(params)
        yield type("Engine", (), {"reset_cache": lambda self: True})()

    monkeypatch.setattr(held, "open_engine", open_engine)
    monkeypatch.setattr(running, "Client", nullcontext)
    monkeypatch.setattr(running, "measure_headroom", lambda client: {})
    return asked


def serve(
    monkeypatch: pytest.MonkeyPatch,
    limit: float,
    before: Callable[[Any], None] = lambda point: None,
) -> None:
    """Answer within 0.5 s up to a rate, and after 5 s beyond it."""

    def measure_point(params: object, point: Any, *rest: Any) -> None:
        before(point)
        folder, facts = rest[2], rest[3]
        ttft_s = 0.5 if point.load.request_rate_per_s <= limit else 5.0
        lines = []
        for number in range(point.workload.num_requests):
            at_s = 100 + number / point.load.request_rate_per_s
            lines.append(
                {
                    "request_id": f"r{number}", "intended_at_s": at_s, "released_at_s": at_s,
                    "sent_at_s": at_s, "first_token_at_s": at_s + ttft_s,
                    "last_token_at_s": at_s + ttft_s + 0.1, "finished_at_s": at_s + ttft_s + 0.1,
                    "prompt_tokens": 8, "completion_tokens": 2, "status": "ok",
                }
            )  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "requests.jsonl").write_text(text, encoding="utf-8")
        facts["load_started_at_s"], facts["load_ended_at_s"] = 100.0, 200.0

    monkeypatch.setattr(running, "measure_point", measure_point)


def begin(tmp_path: Path, **changes: Any) -> RunFolder:
    params = parse_params({**PARAMS, **changes})
    return create_run(params, make_plan(params), tmp_path / "reports")


def go(run: RunFolder) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    measure(run, events.append, decide=make_decide(run))
    return events


def measured(run: RunFolder) -> list[Any]:
    return [records.point["value"] for records in run.points()]


def test_the_plan_grows_until_the_limit_is_bracketed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launches: list[Any]
) -> None:
    run = begin(tmp_path)
    serve(monkeypatch, limit=7.0)
    events = go(run)
    assert measured(run) == FOUND
    assert len(run.manifest()["plan"]) == run.count_measured() == 5
    assert run.manifest()["status"] == "completed"
    assert [one["point_id"] for one in run.manifest()["plan"]][
        -1
    ] == "004-request_rate_per_s-5.66-r0"
    assert len(launches) == 1, "the engine serves every rate"
    assert [one["number"] for one in events if one["event"] == "point"] == [1, 2, 3, 4, 5]
    assert [one["num_points"] for one in events if one["event"] == "plan"] == [3, 4, 5]


def test_a_run_that_is_whole_measures_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path)
    serve(monkeypatch, limit=7.0)
    go(run)
    assert go(run) == []


@pytest.mark.parametrize("stop_at", FOUND)
def test_it_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: float
) -> None:
    run = begin(tmp_path)

    def stop(point: Any) -> None:
        if point.value == stop_at:
            raise KeyboardInterrupt

    serve(monkeypatch, 7.0, stop)
    with pytest.raises(KeyboardInterrupt):
        go(run)
    assert run.manifest()["status"] == "interrupted"
    serve(monkeypatch, 7.0)
    go(run)
    assert measured(run) == FOUND
    assert run.manifest()["status"] == "completed"
    assert {records.point["status"] for records in run.points()} == {"ok"}


def test_a_point_that_fails_is_tried_once_more_and_again_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path)

    def fail(point: Any) -> None:
        if point.value == 4.0:
            raise OSError("no")

    serve(monkeypatch, 7.0, fail)
    go(run)
    assert [(one["value"], one["repeat"]) for one in run.manifest()["plan"]][2:] == [
        (4.0, 0),
        (4.0, 1),
    ]
    serve(monkeypatch, 7.0)
    go(run)
    assert measured(run) == [1.0, 16.0, 4.0, 4.0, 8.0, 5.66]
    assert run.count_measured() == 6


def test_repeats_of_a_value_are_all_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = {**PARAMS["sweep"], "repeats": 2, "search": {"low": 1.0, "high": 4.0, "tolerance": 1.0}}  # type: ignore[dict-item]
    run = begin(tmp_path, sweep=sweep)
    stopped = []

    def stop(point: Any) -> None:
        if point.value == 2.0 and point.repeat == 1 and not stopped:
            stopped.append(point)
            raise KeyboardInterrupt

    serve(monkeypatch, 3.0, stop)
    with pytest.raises(KeyboardInterrupt):
        go(run)
    go(run)
    plan = [(one["value"], one["repeat"]) for one in run.manifest()["plan"]]
    assert plan == [(1.0, 0), (4.0, 0), (1.0, 1), (4.0, 1), (2.0, 0), (2.0, 1)]
    assert run.count_measured() == 6


def test_without_a_search_nobody_decides(tmp_path: Path) -> None:
    assert (
        make_decide(begin(tmp_path, sweep={"variable": "engine.max_num_seqs", "values": [1]}))
        is None
    )


def test_two_searches_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = {"low": 1.0, "high": 4.0, "tolerance": 1.0}
    one = {"variable": "load.request_rate_per_s", "search": search}
    run = begin(tmp_path, sweep=[{**one, "series": "a"}, {**one, "series": "b"}])
    serve(monkeypatch, 3.0)
    go(run)
    plan = [(entry["series"], entry["value"]) for entry in run.manifest()["plan"]]
    assert plan == [("a", 1.0), ("a", 4.0), ("b", 1.0), ("b", 4.0), ("a", 2.0), ("b", 2.0)]


def test_a_dry_run_tells_that_more_follows() -> None:
    (line,) = explain_searches(parse_params(PARAMS))
    assert line == (
        "then up to 6 values of load.request_rate_per_s between 1 and 16, in search of the highest "
        "at which 90% of the requests keep the SLO"
    )


def test_the_story_counts_a_plan_that_grows() -> None:
    story = Story()

    def told(**event: Any) -> str:
        story.hear(event)
        return story.tell(0.0)

    begun = told(event="run", num_points=2, may_grow=True, at_s=0.0)
    assert begun == "2 points to measure, and more as a search finds them"
    point = told(event="point", number=1, variable="load.rate", value=4, repeat=0)
    assert point.startswith("point 1 of at least 2: rate = 4: starting the engine")
    assert told(event="plan", num_points=3).startswith("point 1 of at least 3: ")
    assert told(event="end") == "all 3 points measured"
