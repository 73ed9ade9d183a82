"""The figures of the plan hold its numbers and say that it is a model's."""

from typing import Any

import pytest
from analysis.disaggregation.runs import make_run
from report.drawn import traces

from labkit.analysis.disaggregation.gather import gather
from labkit.analysis.disaggregation.plan import make_plan
from labkit.report.figures.disaggregation import plot_plan
from labkit.report.figures.disaggregation_check import plot_check, plot_inputs


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return make_run()


def test_the_plan_is_drawn_with_its_whiskers(told: dict[str, Any]) -> None:
    figure, inputs = plot_plan(told), gather(told).inputs
    assert inputs is not None
    plan = make_plan(inputs)
    (bars,) = traces(figure, "both SLOs kept")
    assert list(bars.x) == ["1:3", "2:2", "3:1"]
    assert list(bars.y) == pytest.approx([one.rate.value for one in plan.splits], rel=1e-4)
    (prefill,) = traces(figure, "prefill pool (TTFT)")
    assert list(prefill.y) == pytest.approx([one.ttft_rate for one in plan.splits], rel=1e-4)
    best = plan.splits[1]
    assert best.rate.high is not None
    assert bars.error_y.array[1] == pytest.approx(best.rate.high - best.rate.value, rel=1e-3)
    # 2 a second were too many for one that does both
    assert set(traces(figure, "one that does both, measured")[0].y) == {1.0}
    assert plan.best is not None
    assert f"{plan.best.name} is the best split" in figure.layout.title.text
    assert figure.layout.meta["caption"].startswith("Planning model, not a measurement.")


def test_a_model_that_is_off_is_drawn_as_such() -> None:
    told = make_run(slower=3.0)
    assert "not to be relied on" in plot_plan(told).layout.title.text
    assert plot_check(told).layout.title.text == "The model does not describe the one engine"


def test_the_check_holds_both(told: dict[str, Any]) -> None:
    figure = plot_check(told)
    assert len(traces(figure, "predicted")) == len(traces(figure, "measured")) == 2
    assert list(traces(figure, "measured")[0].x) == [1.0, 2.0]
    assert figure.layout.title.text == "The model's prediction holds for the one engine"


def test_the_inputs_hold_every_point(told: dict[str, Any]) -> None:
    figure = plot_inputs(told)
    prefill, steps = traces(figure, "measured")
    assert list(prefill.x) == [32, 64, 128, 192, 256]
    assert list(steps.x) == [1, 2, 4, 8]
    assert "1.5" in figure.layout.title.text


def test_nothing_measured_is_said_in_each_figure(told: dict[str, Any]) -> None:
    empty = {**told, "points": []}
    for plot in (plot_plan, plot_check, plot_inputs):
        notes = [one.text for one in plot(empty).layout.annotations]
        assert any("no valid point" in one.replace("<br>", " ") for one in notes)
