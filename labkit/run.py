"""The order of a run: point after point, each on an engine that is up, failures and all.

It measures the points that a run folder lacks. It must not know how a latency is derived, what a
figure looks like, or that notebooks exist.
"""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.client.headroom import measure_headroom
from labkit.client.load import Client
from labkit.engines import list_absent
from labkit.engines.stepdown import step_down
from labkit.errors import EngineError, LabkitError, tell
from labkit.held import Held, Running
from labkit.params import EngineParams, Params, load_params
from labkit.plan import Point, make_plan
from labkit.point import OnEvent, describe_point, measure_point
from labkit.records import RunFolder, replace_json, set_aside

Decide = Callable[[], list[Point]]
"""What to measure beyond the plan, asked whenever all that is known is measured; [] ends the run.
It must not give a point that it gave before."""


def measure(
    run: RunFolder,
    on_event: OnEvent,
    running: Running | None = None,
    decide: Decide | None = None,
) -> None:
    """Measure every point that the run folder lacks, one after the other.

    An engine that is `running` already serves the points that ask for it, and is left running.
    What `decide` adds is put into the plan of the manifest first; client and engine stay up.
    A point that fails is recorded with its reason and the next one is tried. A point that was
    begun before and did not end well is kept beside the new one. Raises RecordsError if another
    process measures into the folder.
    """
    params = load_params(run.params_path)
    plan = make_plan(params)
    with run.hold():
        missing = [point for point in plan if not run.is_measured(point.point_id)]
        missing = missing or _grow(run, decide)
        if not missing:
            if run.manifest()["status"] != "completed":
                _end(run, "completed", None)
            return
        run.update_manifest(status="running", error=None)
        try:
            _measure_points(run, params, missing, on_event, running, decide)
        except BaseException as error:
            stopped = not isinstance(error, Exception)
            _end(run, "interrupted" if stopped else "failed", tell(error))
            raise
        _end(run, "completed", None)


def _measure_points(
    run: RunFolder,
    params: Params,
    points: list[Point],
    emit: OnEvent,
    running: Running | None,
    decide: Decide | None,
) -> None:
    told = _tell_plan(points, None if running is None else running.params)
    emit({"event": "run", "num_points": len(points), "may_grow": decide is not None,
          "points": told, "at_s": time.monotonic()})  # fmt: skip
    with Client() as client, Held(running) as held:
        _note_headroom(run, client)
        done = 0
        while points:
            for number, point in enumerate(points, start=done + 1):
                at_s = time.monotonic()
                emit({"event": "point", "number": number, "at_s": at_s, **point.place()})
                engine: EngineParams | None = point.engine
                steps: list[dict[str, Any]] = []
                while engine is not None:
                    facts, engine = _try(run, params, point, engine, steps, client, held, emit)
                emit({"event": "point_end", "number": number, "status": facts["status"],
                      "error": facts["error"], "at_s": time.monotonic()})  # fmt: skip
            done, last = done + len(points), points[-1].engine
            points = _grow(run, decide)
            if points:
                emit({"event": "plan", "num_points": done + len(points),
                      "points": _tell_plan(points, last), "at_s": time.monotonic()})  # fmt: skip
    emit({"event": "end", "at_s": time.monotonic()})


def _grow(run: RunFolder, decide: Decide | None) -> list[Point]:
    """Return what is to be measured next, and put it into the plan where it is new there."""
    points = decide() if decide is not None else []
    plan = run.manifest()["plan"]
    known = {entry["point_id"] for entry in plan}
    new = [point.place() for point in points if point.point_id not in known]
    if new:
        run.update_manifest(plan=[*plan, *new])
    return points


def _try(
    run: RunFolder,
    params: Params,
    point: Point,
    engine: EngineParams,
    steps: list[dict[str, Any]],
    client: Client,
    held: Held,
    emit: OnEvent,
) -> tuple[dict[str, Any], EngineParams | None]:
    """Measure a point once; return its facts, and smaller settings to try it again with or None."""
    folder = _begin(run, point)
    facts = describe_point(point) | {"stepped_down": list(steps)}
    replace_json(folder / "point.json", facts)
    smaller = None
    try:
        try:
            if point.relaunch:
                held.drop()
            up = held.open(engine, folder, facts)
            emit({"event": "ready", "at_s": time.monotonic()})
            facts["engine_log"] = os.path.relpath(up.log, run.path)
            measure_point(params, point, up.engine, client, folder, facts, emit)
        finally:
            facts["ended_at_s"] = time.monotonic()
        facts["status"] = "ok"
    except Exception as error:  # whatever it is, the next point may still be measured
        kind = error.kind if isinstance(error, EngineError) else None
        facts |= {"status": "failed", "error": tell(error), "error_kind": kind}
        try:
            held.drop()
        except EngineError as left:
            facts["error"] += f"; {tell(left)}"
        if engine.on_oom == "step_down" and (
            found := step_down(engine, kind, list_absent(engine.kind))
        ):
            smaller, step = found
            steps.append(step)
            emit({"event": "step_down", **step, "at_s": time.monotonic()})
    except BaseException as error:
        facts |= {"status": "interrupted", "error": tell(error)}
        raise
    finally:
        replace_json(folder / "point.json", facts)
    return facts, smaller


def _tell_plan(points: list[Point], engine: EngineParams | None) -> list[dict[str, Any]]:
    """Return what each point is and whether it launches an engine, `engine` being up before."""
    told = []
    for point in points:
        place = {"variable": point.variable, "value": point.value, "series": point.series}
        told.append({**place, "launches": point.engine != engine})
        engine = point.engine
    return told


def _note_headroom(run: RunFolder, client: Client) -> None:
    """Keep what the client can do here, or why that is not known: it stops no measurement."""
    try:
        run.update_manifest(headroom=measure_headroom(client), headroom_reason=None)
    except (LabkitError, OSError) as error:
        run.update_manifest(headroom=None, headroom_reason=tell(error))


def _begin(run: RunFolder, point: Point) -> Path:
    folder = run.point_folder(point.point_id)
    set_aside(folder)
    folder.mkdir(parents=True)
    return folder


def _end(run: RunFolder, status: str, error: str | None) -> None:
    ended_at = datetime.now(UTC).isoformat(timespec="seconds")
    run.update_manifest(status=status, error=error, ended_at=ended_at)
