"""The order of a run: a point that fails, for whatever reason, does not cost the next one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labkit import held
from labkit import run as running
from labkit.errors import EngineError
from labkit.params import parse_params
from labkit.plan import make_plan
from labkit.records import RunFolder
from labkit.request import create_run, explain_launches
from labkit.run import measure


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two points, each with an engine of its own that does nothing."""

    @contextmanager
    def open_engine(params: object, *, folder: Path) -> Iterator[None]:
        yield None

    monkeypatch.setattr(held, "open_engine", open_engine)
    params = parse_params(
        {
            "name": "small",
            "engine": {"kind": "llamacpp"},
            "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
            "load": {"max_concurrency": 2},
            "sweep": {"variable": "engine.max_num_seqs", "values": [1, 2]},
        }
    )
    return create_run(params, make_plan(params), tmp_path / "reports")


def end_first_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def measure_point(params: object, point: Any, *rest: object) -> None:
        if point.index == 0:
            raise error

    monkeypatch.setattr(running, "measure_point", measure_point)


def test_a_bug_in_a_point_fails_it_and_the_next_is_measured(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_first_with(monkeypatch, ZeroDivisionError("division by zero"))
    measure(run, lambda event: None)
    first, second = run.points()
    assert first.point["status"] == "failed"
    assert first.point["error"] == "ZeroDivisionError: division by zero"
    assert second.point["status"] == "ok"
    assert run.manifest()["status"] == "completed"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_whoever_stops_a_point_stops_the_run(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    end_first_with(monkeypatch, error)
    with pytest.raises(type(error)):
        measure(run, lambda event: None)
    (first,) = run.points()
    assert first.point["status"] == run.manifest()["status"] == "interrupted"


def test_only_what_is_missing_is_measured_and_the_failed_one_is_kept(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_first_with(monkeypatch, OSError("no"))
    measure(run, lambda event: None)
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(running, "measure_point", lambda *rest: None)
    measure(run, events.append)
    assert [event["point_id"] for event in events if event["event"] == "point"] == [
        "000-max_num_seqs-1-r0"
    ]
    assert run.count_measured() == 2
    assert (run.path / "points" / "000-max_num_seqs-1-r0.attempt1").is_dir()


def test_out_of_memory_steps_down_in_order_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = parse_params(
        {
            "name": "small",
            "engine": {"kind": "vllm", "model": "m", "on_oom": "step_down"},
            "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
            "load": {"max_concurrency": 2},
            "sweep": {"variable": "engine.max_num_seqs", "values": [64, 2]},
        }
    )
    run = create_run(params, make_plan(params), tmp_path / "reports")
    asked = []

    @contextmanager
    def open_engine(params: Any, *, folder: Path) -> Iterator[None]:
        asked.append((params.max_num_seqs, params.max_num_batched_tokens))
        if params.max_num_batched_tokens != 4096 and params.max_num_seqs != 2:
            raise EngineError("out", kind="oom_profile")
        yield None

    monkeypatch.setattr(held, "open_engine", open_engine)
    monkeypatch.setattr(running, "measure_point", lambda *rest: None)
    events: list[dict[str, Any]] = []
    measure(run, events.append)
    assert asked == [(64, None), (16, None), (16, 4096), (2, None)]
    first, second = run.points()
    assert first.point["status"] == "ok"
    assert first.point["engine"]["max_num_seqs"] == 64
    assert first.point["stepped_down"] == [
        {"knob": "max_num_seqs", "from": 64, "to": 16, "because": "oom_profile"},
        {"knob": "max_num_batched_tokens", "from": None, "to": 4096, "because": "oom_profile"},
    ]
    assert second.point["stepped_down"] == []
    assert [event["event"] for event in events].count("point_end") == 2
    kept = sorted(path.name for path in (run.path / "points").iterdir())
    assert [name for name in kept if "attempt" in name] == [
        "000-max_num_seqs-64-r0.attempt1",
        "000-max_num_seqs-64-r0.attempt2",
    ]


@pytest.mark.parametrize(("relaunch", "launches"), [(False, 1), (True, 3)])
def test_an_engine_is_launched_anew_for_every_point_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaunch: bool, launches: int
) -> None:
    opened: list[object] = []

    @contextmanager
    def open_engine(params: object, *, folder: Path) -> Iterator[object]:
        opened.append(params)
        yield SimpleNamespace(reset_cache=lambda: True)

    monkeypatch.setattr(held, "open_engine", open_engine)
    monkeypatch.setattr(running, "measure_point", lambda *rest: None)
    params = parse_params(
        {
            "name": "small",
            "engine": {"kind": "llamacpp"},
            "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
            "load": {"max_concurrency": 2},
            "sweep": {
                "variable": "load.max_concurrency",
                "values": [1],
                "repeats": 3,
                "relaunch": relaunch,
            },
        }
    )
    plan = make_plan(params)
    run = create_run(params, plan, tmp_path / "reports")
    measure(run, lambda event: None)
    assert [point.point["status"] for point in run.points()] == ["ok"] * 3
    assert len(opened) == launches
    assert len(list(explain_launches(plan))) == launches
