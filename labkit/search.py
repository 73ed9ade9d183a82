"""What a search measures next: from the records of a run to points beyond its first plan.

It must not know how a point is measured, nor how the next value is chosen.
"""

from collections.abc import Callable, Mapping
from typing import Any

from labkit.analysis.metrics import summarize_point
from labkit.analysis.search import next_value, read_tried
from labkit.params import Params, SweepParams, is_whole, load_params
from labkit.plan import Point, add_points, make_plan
from labkit.records import RunFolder


def make_decide(run: RunFolder) -> Callable[[], list[Point]] | None:
    """Return what tells the points to measure next, or None where no sweep of the run searches.

    What failed or was interrupted before this call is measured again before a search goes on.
    """
    params = load_params(run.params_path)
    if all(sweep.search is None for sweep in params.sweep):
        return None
    return _Searches(run, params).decide


class _Searches:
    """The searches of one run, one after the other, and what they know of its points."""

    def __init__(self, run: RunFolder, params: Params) -> None:
        self._run = run
        self._params = params
        self._first = {point.point_id for point in make_plan(params)}
        self._rows: dict[str, dict[str, Any]] = {}
        planned = [entry["point_id"] for entry in run.manifest()["plan"]]
        self._again = {one for one in planned if not run.is_measured(one)} - self._first

    def decide(self) -> list[Point]:
        """Return the points to measure next, none where every search is at its end."""
        plan = self._run.manifest()["plan"]
        for sweep in self._params.sweep:
            if sweep.search is None:
                continue
            own = [
                entry
                for entry in plan
                if (entry["variable"], entry.get("series")) == (sweep.variable, sweep.series)
            ]
            points = self._repeat(sweep, own, plan) or self._go_on(sweep, own, plan)
            if points:
                return points
        return []

    def _repeat(
        self, sweep: SweepParams, own: list[Mapping[str, Any]], plan: list[Any]
    ) -> list[Point]:
        """Return points that the plan already has and that an earlier process did not measure."""
        left = [entry for entry in own if entry["point_id"] in self._again]
        self._again -= {entry["point_id"] for entry in left}
        return [
            point
            for entry in left
            for point in add_points(
                self._params, sweep, entry["value"], [entry["repeat"]], plan.index(entry)
            )
        ]

    def _go_on(
        self, sweep: SweepParams, own: list[Mapping[str, Any]], plan: list[Any]
    ) -> list[Point]:
        assert sweep.search is not None
        rows = [self._summarize(entry["point_id"]) for entry in own]
        whole = is_whole(sweep.variable)
        step = next_value(sweep.search, read_tried(rows), whole=whole)
        if step.value is None:
            return []
        done = sum(row["value"] == step.value for row in rows)
        repeats = [done] if done else list(range(sweep.repeats))
        return add_points(self._params, sweep, step.value, repeats, len(plan))

    def _summarize(self, point_id: str) -> dict[str, Any]:
        if point_id not in self._rows:
            records = self._run.point(point_id)
            assert records is not None, "a search is asked when all that is planned is measured"
            self._rows[point_id] = summarize_point(records, self._params.slo.model_dump())
        return self._rows[point_id]
