"""The figures of steps and phases hold the numbers of the rows and say what they found."""

from typing import Any

import pytest

from labkit.report.figures import plot_phases, plot_step_time

VARIABLE = "engine.max_num_seqs"


def row(value: int, **told: Any) -> dict[str, Any]:
    """A point with a step of 10 ms + 2 ms a stream, all of its streams running."""
    bins = [{"num_running": value, "step_s": 0.010 + 0.002 * value, "n": 100}]
    return {
        "point_id": f"p{value}",
        "variable": VARIABLE,
        "value": value,
        "repeat": 0,
        "validity": "VALID",
        "validity_reasons": [],
        "null_reasons": {},
        "step_time": {"bins": bins},
        "phases": {
            "queue_time_s": 0.1,
            "prefill_time_s": 0.2,
            "decode_time_s": 0.3 * value,
            "source": "engine histograms",
            "n": 9,
        },
        "prefill_stall_s": {
            "max": 0.5 * value, "p95": 0.25 * value, "n": 5, "median_gap_s": 0.05, "share": 0.125,
        },
        **told,
    }  # fmt: skip


@pytest.fixture
def told() -> dict[str, Any]:
    return {"points": [row(1), row(2), row(8)]}


def find(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def test_steps_are_drawn_as_they_were_binned(told: dict[str, Any]) -> None:
    figure = plot_step_time(told, VARIABLE)
    times, rates = find(figure, "measured")
    assert (list(times.x), list(times.y)) == ([1, 2, 8], [12.0, 14.0, 26.0])
    assert list(rates.y) == pytest.approx([83.333, 142.86, 307.69])  # n / step
    line, curve = find(figure, "fitted: a + b·n")
    assert line.x[-1] == curve.x[-1] == 10  # a quarter beyond the most that ran
    assert (line.y[0], line.y[-1]) == (pytest.approx(12), pytest.approx(30))
    [limit] = find(figure, "limit: 500 tokens/s")
    assert set(limit.y) == {500.0}
    assert figure.layout.title.text == "Batching gains at most 6 times here"
    assert "half of that limit is had at 5 streams" in figure.layout.meta["caption"]


def test_points_that_are_not_valid_are_in_no_fit(told: dict[str, Any]) -> None:
    told["points"][1] |= {"validity": "INVALID", "step_time": {"bins": [
        {"num_running": 2, "step_s": 9.0, "n": 100}]}}  # fmt: skip
    times, _ = find(plot_step_time(told, VARIABLE), "measured")
    assert list(times.x) == [1, 8]


def test_without_steps_the_reason_stands_there() -> None:
    points = [row(1, step_time=None, null_reasons={"step_time": "one chunk each"})]
    figure = plot_step_time({"points": points}, VARIABLE)
    assert "can't be told" in figure.layout.title.text
    notes = [note.text for note in figure.layout.annotations if "No data" in note.text]
    assert notes == ["No data: one chunk each"] * 2


def test_phases_are_stacked_and_stalls_named(told: dict[str, Any]) -> None:
    figure = plot_phases(told, VARIABLE)
    bars = {trace.name: list(trace.y) for trace in figure.data if trace.type == "bar"}
    assert bars == {"queue": [0.1] * 3, "prefill": [0.2] * 3, "decode": [0.3, 0.6, 2.4]}
    assert figure.layout.barmode == "stack"
    [p95] = find(figure, "P95 with a prefill")
    assert list(p95.y) == [0.25, 0.5, 2.0]
    assert figure.layout.title.text == (
        "Prefills stretch the gap of running streams to 2 s (P95) at max_num_seqs 8, usually 50 ms"
    )
    assert "1: 12.5 %, 2: 12.5 %, 8: 12.5 %" in figure.layout.meta["caption"]


def test_an_engine_that_tells_no_queue_has_one_bar_for_both(told: dict[str, Any]) -> None:
    for one in told["points"]:
        one["phases"] |= {"queue_time_s": None, "source": "client"}
        one["prefill_stall_s"] = None
        one["null_reasons"] = {"prefill_stall_s": "no prefill fell into a gap"}
    figure = plot_phases(told, VARIABLE)
    assert {trace.name for trace in figure.data if trace.type == "bar"} == {
        "queue and prefill", "decode",
    }  # fmt: skip
    notes = [note.text.replace("<br>", " ") for note in figure.layout.annotations]
    assert "No data: no prefill fell into a gap" in notes
