"""The figures of the SLO hold the numbers of the rows, mark limit and knee, say what is found."""

import math
from typing import Any

import pytest

from labkit.analysis.capacity import find_capacities
from labkit.analysis.tasks import find_tasks
from labkit.report.figures.capacity import plot_goodput, plot_latency_by_load
from labkit.report.figures.tasks import plot_tasks
from labkit.report.theme import AMBER, PURPLE

RATE = "load.request_rate_per_s"
SLO = {"ttft_s": 0.5, "tpot_s": 0.05}


def spread(middle: float) -> dict[str, float]:
    return {"p50": middle, "p95": middle * 2, "p99": middle * 3, "mean": middle, "n": 50}


def at(rate: float, met: int, e2e_s: float, **changes: Any) -> dict[str, Any]:
    """A rate at which so many of 50 requests are good; P95 is twice the median."""
    return {
        "point_id": f"r{rate}",
        "variable": RATE,
        "value": float(rate),
        "series": None,
        "repeat": 0,
        "validity": "VALID",
        "validity_reasons": [],
        "null_reasons": {},
        "load": {"mode": "open"},
        "slo": SLO,
        "num_requests": 50,
        "num_ok": 50,
        "num_slo_met": met,
        "slo_attainment": met / 50,
        "goodput_per_s": rate * met / 50,
        "request_throughput_per_s": rate * 0.9,
        "offered_rate_per_s": float(rate),
        "duration_s": 50 / rate,
        "ttft_s": spread(e2e_s / 2),
        "ttft_intended_s": spread(e2e_s / 2),
        "tpot_s": spread(0.02),
        "e2e_latency_s": spread(e2e_s),
        "e2e_latency_intended_s": spread(e2e_s),
        **changes,
    }


def summary(*rows: dict[str, Any]) -> dict[str, Any]:
    search = {"low": 1.0, "high": 16.0, "share": 0.9, "steps": 1, "tolerance": 0.1}
    sweep = {"variable": RATE, "values": [1.0, 16.0], "series": None, "search": search}
    return {"run": {"sweep": [sweep]}, "points": list(rows)}


FOUND = summary(at(1, 50, 0.1), at(16, 5, 2.0), at(4, 46, 0.15))


def traces(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def draw(plot: Any, data: dict[str, Any]) -> Any:
    (capacity,) = find_capacities(data)
    return plot(data, capacity)


def test_goodput_stands_beside_what_was_served_and_offered() -> None:
    figure = draw(plot_goodput, FOUND)
    (good,) = traces(figure, "good: within the SLO")
    assert list(good.y) == pytest.approx([1.0, 4 * 46 / 50, 16 * 5 / 50])
    (offered,) = traces(figure, "offered")
    assert list(offered.y) == [1.0, 4.0, 16.0]
    (share,) = traces(figure, "keep the SLO")
    assert list(share.y) == pytest.approx([100.0, 92.0, 10.0])
    assert figure.layout.title.text == (
        "The SLO holds up to 4 requests/s: 3.68 requests/s are good"
    )
    (asked,) = traces(figure, "asked: 90 %")
    assert set(asked.y) == {90.0}
    assert figure.layout.yaxis.title.text == "rate (requests/s)"


def test_limit_and_knee_are_marked_in_every_panel() -> None:
    # P95 of 0.2 s unloaded and 0.3 s at 4: within twice; 4 s at 16 is not
    figure = draw(plot_latency_by_load, FOUND)
    marks = {
        colour: [(s.x0, s.x1) for s in figure.layout.shapes if s.fillcolor == colour]
        for colour in (AMBER, PURPLE)
    }
    assert marks == {AMBER: [(4.0, 16.0)] * 3, PURPLE: [(4.0, 16.0)] * 3}
    assert figure.layout.title.text == "P95 latency doubles between 4 and 16 requests/s"
    assert "The knee lies between 4 and 16 requests/s." in figure.layout.meta["caption"]
    limits = traces(figure, "limit of the SLO")
    # the largest TTFT is 3 s, so seconds; the largest TPOT 60 ms; no limit of end to end is set
    assert [set(trace.y) for trace in limits] == [{0.5}, {50.0}]


def test_loads_stand_at_their_distance() -> None:
    figure = draw(plot_goodput, FOUND)
    axis = figure.layout.xaxis
    assert axis.type == "log"
    assert list(axis.tickvals) == [1, 2, 4, 8, 16]
    assert axis.range[0] < math.log10(1.0) < math.log10(16.0) < axis.range[1]
    assert axis.title.text == "request_rate (requests/s)"


def test_what_is_not_bracketed_has_no_mark_and_says_so() -> None:
    held = draw(plot_latency_by_load, summary(at(1, 50, 0.1), at(16, 50, 0.15)))
    assert not held.layout.shapes
    assert "can't tell where the knee is" in held.layout.title.text
    assert "Can't tell where the knee is: latency stays within" in held.layout.meta["caption"]
    missed = draw(plot_goodput, summary(at(1, 5, 0.1), at(16, 0, 2.0)))
    assert missed.layout.title.text == "The SLO is missed already at 1 request/s"
    empty = draw(plot_goodput, summary(at(1, 50, 0.1, validity="INVALID")))
    assert empty.layout.title.text == "Goodput: no valid measurement"
    nothing = draw(plot_goodput, summary())
    assert nothing.layout.title.text == "Goodput: no valid measurement"


def task(steps: int, kept: int, calls: int) -> dict[str, Any]:
    return {
        **at(steps, calls, 0.2),
        "variable": "workload.num_steps",
        "value": steps,
        "series": "agents",
        "workload": {"kind": "agent"},
        "num_requests": 50 * steps,
        "slo_attainment": calls / (50 * steps),
        "num_tasks": 50,
        "num_tasks_slo_met": kept,
        "task_latency_s": spread(0.3 * steps),
    }


def test_tasks_stand_beside_what_calls_lead_one_to_expect() -> None:
    tasks = find_tasks({"points": [task(1, 50, 50), task(4, 30, 160)]})["agents"]
    figure = plot_tasks(tasks)
    (expected,) = traces(figure, "k times the median call")
    # the median call is 0.2 s; the longest P99 is 3 * 1.2 s, so seconds
    assert list(expected.y) == pytest.approx([0.2, 0.8])
    (chance,) = traces(figure, "p^k: misses by chance")
    assert list(chance.y) == pytest.approx([100.0, 0.8**4 * 100])  # 160 of 200 calls
    (measured,) = traces(figure, "tasks that keep it in every call")
    assert list(measured.y) == [100.0, 60.0]
    assert figure.layout.title.text == (
        "A task of 4 calls takes 2.4 s at P95; 60 % keep the SLO, 100 % with 1"
    )


def test_tasks_without_an_slo_have_a_reason_in_the_place_of_shares() -> None:
    bare = {**task(2, 0, 0), "num_tasks_slo_met": None, "num_slo_met": None}
    figure = plot_tasks(find_tasks({"points": [bare]})["agents"])
    assert any("no SLO" in note.text for note in figure.layout.annotations)
    assert plot_tasks([]).layout.title.text == "Time of a task: no valid measurement"
