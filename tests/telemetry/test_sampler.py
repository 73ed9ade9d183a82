"""Sampling on a schedule, with sources that are told by events when to come back."""

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from telemetry.gpu.library import Library

from labkit.errors import EngineError, LabkitError
from labkit.records import JsonlWriter, read_jsonl
from labkit.telemetry.gpu import open_gpus
from labkit.telemetry.sampler import Sampler, next_tick, open_sources, take_rows


@pytest.mark.parametrize(
    ("tick", "elapsed_s", "following"),
    [
        (0, 0.01, 1),  # in time
        (3, 0.80, 4),
        (3, 1.00, 4),  # due this moment
        (3, 1.01, 5),  # one missed
        (3, 9.90, 40),  # many missed: one sample follows, not thirty-six
    ],
)
def test_missed_ticks_are_skipped(tick: int, elapsed_s: float, following: int) -> None:
    assert next_tick(tick, elapsed_s, 0.25) == following


def counting(enough: int) -> tuple[Callable[[], dict[str, Any]], threading.Event]:
    """Return a source that numbers its samples, and an event for when it took enough of them."""
    reached, taken = threading.Event(), [0]

    def take() -> dict[str, Any]:
        taken[0] += 1
        if taken[0] >= enough:
            reached.set()
        return {"number": taken[0]}

    return take, reached


def test_rows_are_appended_in_order_and_on_schedule(tmp_path: Path) -> None:
    take, reached = counting(4)
    began_at_s = time.monotonic()
    with Sampler(tmp_path / "samples.jsonl", 0.02, {"engine": take}):
        assert reached.wait(5)
    rows = read_jsonl(tmp_path / "samples.jsonl")
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 5
    first = rows[0]
    assert list(first) == ["source", "at_s", "took_s", "number", "error"]
    assert (first["source"], first["error"]) == ("engine", None)
    assert first["took_s"] >= 0
    for tick, row in enumerate(rows[:-1]):  # the last one was taken at the end, off schedule
        assert row["at_s"] >= began_at_s + tick * 0.02 - 0.001


def test_a_short_block_has_a_sample_at_either_end(tmp_path: Path) -> None:
    take, reached = counting(1)
    with Sampler(tmp_path / "samples.jsonl", 60.0, {"engine": take}):
        assert reached.wait(5)
    assert [row["number"] for row in read_jsonl(tmp_path / "samples.jsonl")] == [1, 2]


def test_a_source_that_fails_says_so_and_goes_on(tmp_path: Path) -> None:
    take, reached = counting(3)

    def sometimes() -> dict[str, Any]:
        row = take()
        if row["number"] == 1:
            raise EngineError("expected metrics,\nfound 503; wait")
        if row["number"] == 2:
            raise KeyError("gone")
        return row

    with Sampler(tmp_path / "samples.jsonl", 0.01, {"engine": sometimes}):
        assert reached.wait(5)
    rows = read_jsonl(tmp_path / "samples.jsonl")
    assert rows[0]["error"] == "expected metrics, found 503; wait"
    assert rows[1]["error"] == "KeyError: 'gone'"
    assert (rows[2]["number"], rows[2]["error"]) == (3, None)


def test_a_slow_source_does_not_hold_another_up(tmp_path: Path) -> None:
    release = threading.Event()
    take, reached = counting(5)

    def slow() -> dict[str, Any]:
        release.wait(5)
        return {}

    with Sampler(tmp_path / "samples.jsonl", 0.01, {"gpu": slow, "host": take}):
        assert reached.wait(5)
        release.set()
    sources = [row["source"] for row in read_jsonl(tmp_path / "samples.jsonl")]
    assert sources[:4] == ["host"] * 4
    assert "gpu" in sources


def test_a_source_that_hangs_is_left_behind_and_told(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang() -> dict[str, Any]:
        begun.set()
        release.wait(10)
        return {"late": True}

    with Sampler(tmp_path / "samples.jsonl", 0.01, {"engine": hang}, stop_timeout_s=0.05):
        assert begun.wait(5)
    (thread,) = [one for one in threading.enumerate() if one.name == "engine samples"]
    release.set()
    thread.join(5)
    assert not thread.is_alive()
    (row,) = read_jsonl(tmp_path / "samples.jsonl")
    assert row["error"] == "the engine did not answer within 0.05 s at the end"


def test_one_sample_of_several_rows() -> None:
    rows = list(take_rows("gpu", lambda: [{"gpu_index": 0}, {"gpu_index": 1, "error": "lost"}]))
    assert [row["gpu_index"] for row in rows] == [0, 1]
    assert [row["error"] for row in rows] == [None, "lost"]
    assert rows[0]["at_s"] == rows[1]["at_s"]


def test_what_is_not_json_becomes_an_error(tmp_path: Path) -> None:
    with Sampler(tmp_path / "samples.jsonl", 60.0, {"host": lambda: {"x": math.nan}}):
        pass
    rows = read_jsonl(tmp_path / "samples.jsonl")
    assert rows
    assert all(row["error"].startswith("ValueError") and "x" not in row for row in rows)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    tried = threading.Event()

    def refuse(writer: JsonlWriter, row: dict[str, Any]) -> None:
        tried.set()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JsonlWriter, "write", refuse)
    return tried


def run_block(out: Path, inside: Callable[[], object]) -> None:
    with Sampler(out, 0.01, {"host": dict}):
        inside()


def test_a_full_disk_is_an_error_at_the_end(tmp_path: Path, full_disk: threading.Event) -> None:
    with pytest.raises(LabkitError, match="found: No space left on device; make room"):
        run_block(tmp_path / "samples.jsonl", lambda: full_disk.wait(5))


def test_the_error_of_the_block_comes_first(tmp_path: Path, full_disk: threading.Event) -> None:
    def fail() -> None:
        full_disk.wait(5)
        raise EngineError("it died")

    with pytest.raises(EngineError, match="it died"):
        run_block(tmp_path / "samples.jsonl", fail)


def test_what_sampling_costs_is_known_of_every_source(tmp_path: Path) -> None:
    def work() -> dict[str, Any]:
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass
        return {}

    take, reached = counting(3)
    sampler = Sampler(tmp_path / "samples.jsonl", 0.05, {"engine": take, "host": work})
    assert sampler.cost() == {"period_s": 0.05, "sources": {}}
    with sampler:
        assert reached.wait(5)
    sources = sampler.cost()["sources"]
    num_worked = sum(row["source"] == "host" for row in read_jsonl(tmp_path / "samples.jsonl"))
    assert sorted(sources) == ["engine", "host"]
    assert 0 < sources["engine"]["cpu_s"] < sources["engine"]["time_s"]
    assert 0.02 * num_worked <= sources["host"]["cpu_s"] < sources["host"]["time_s"]


def test_the_sources_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = open_sources(lambda: {"num_preemptions": 2}, list, list, None)
    assert list(sources) == ["engine", "host"]
    (row,) = take_rows("engine", sources["engine"])
    assert row["num_preemptions"] == 2
    (row,) = take_rows("host", sources["host"])
    assert row["host_memory_total_bytes"] > 0
    gpus, _ = open_gpus(Library().load(monkeypatch), {})
    sources = open_sources(dict, list, list, gpus)
    rows = take_rows("gpu", sources["gpu"])
    assert [row["gpu_index"] for row in rows] == [0, 1]
