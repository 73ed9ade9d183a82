"""The one place that knows the order: engine, ready, warm-up, load beside sampling, stop, records.

It measures the points that a run folder lacks. It must not know how a latency is derived, what a
figure looks like, or that notebooks exist.
"""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.client.headroom import measure_headroom
from labkit.client.load import Client, Order
from labkit.client.share import count_warmup
from labkit.client.stream import Target
from labkit.engines import Engine, open_engine
from labkit.errors import LabkitError
from labkit.params import EngineParams, Params, load_params
from labkit.plan import Point, make_plan
from labkit.records import SCHEMA, RunFolder, replace_json, set_aside
from labkit.telemetry.sampler import Sampler, open_sources
from labkit.workload import fingerprint, generate, imitate

OnEvent = Callable[[dict[str, Any]], None]

KNOBS = tuple(
    name
    for name in EngineParams.model_fields
    if name.startswith(("max_", "enable_"))
    or name
    in (
        "gpu_memory_utilization",
        "block_size",
        "scheduling_policy",
        "static_batching",
        "num_threads",
    )
)


@dataclass(frozen=True, slots=True)
class Running:
    """An engine that is up, what it was launched with, and where its log is."""

    params: EngineParams
    engine: Engine
    log: Path


def measure(run: RunFolder, on_event: OnEvent, running: Running | None = None) -> None:
    """Measure every point that the run folder lacks, one after the other.

    An engine that is `running` already serves the points that ask for it, and is left running.
    A point that fails is recorded with its reason and the next one is tried. A point that was
    begun before and did not end well is kept beside the new one. Raises RecordsError if another
    process measures into the folder.
    """
    params = load_params(run.params_path)
    plan = make_plan(params)
    with run.hold():
        missing = [point for point in plan if not run.is_measured(point.point_id)]
        if not missing:
            if run.manifest()["status"] != "completed":
                _end(run, "completed", None)
            return
        run.update_manifest(status="running", error=None)
        try:
            _measure_points(run, params, missing, on_event, running)
        except BaseException as error:
            stopped = not isinstance(error, Exception)
            _end(run, "interrupted" if stopped else "failed", _tell(error))
            raise
        _end(run, "completed", None)


def _measure_points(
    run: RunFolder, params: Params, points: list[Point], emit: OnEvent, held: Running | None
) -> None:
    emit({"event": "run", "num_points": len(points), "at_s": time.monotonic()})
    with Client() as client, contextlib.ExitStack() as stack:
        _note_headroom(run, client)
        for number, point in enumerate(points, start=1):
            began_at_s = time.monotonic()
            emit({"event": "point", "number": number, "at_s": began_at_s, **point.place()})
            folder = _begin(run, point)
            facts: dict[str, Any] = _describe(point)
            replace_json(folder / "point.json", facts)
            try:
                if held is None or held.params != point.engine:
                    stack.close()
                    held = None
                    facts["started_at_s"] = time.monotonic()
                    engine = stack.enter_context(open_engine(point.engine, folder=folder))
                    held = Running(point.engine, engine, folder / "engine.log")
                    facts["ready_at_s"] = time.monotonic()
                else:
                    facts["cache_reset"] = held.engine.reset_cache()
                facts["engine_log"] = os.path.relpath(held.log, run.path)
                _measure_point(params, point, held.engine, client, folder, facts, emit)
                facts["status"] = "ok"
            except Exception as error:  # whatever it is, the next point may still be measured
                facts |= {"status": "failed", "error": _tell(error)}
                stack.close()
                held = None
            except BaseException as error:
                facts |= {"status": "interrupted", "error": _tell(error)}
                raise
            finally:
                replace_json(folder / "point.json", facts)
                emit({"event": "point_end", "number": number, "status": facts["status"],
                      "error": facts["error"], "at_s": time.monotonic()})  # fmt: skip
    emit({"event": "end", "at_s": time.monotonic()})


def _note_headroom(run: RunFolder, client: Client) -> None:
    """Keep what the client can do here, or why that is not known: it stops no measurement."""
    try:
        run.update_manifest(headroom=measure_headroom(client), headroom_reason=None)
    except (LabkitError, OSError) as error:
        run.update_manifest(headroom=None, headroom_reason=_tell(error))


def _measure_point(
    params: Params,
    point: Point,
    engine: Engine,
    client: Client,
    folder: Path,
    facts: dict[str, Any],
    emit: OnEvent,
) -> None:
    facts |= {"command": engine.command, "effective": engine.effective(), "model": engine.model}
    salt = point.point_id if point.workload.salt else ""
    count = engine.count_tokens
    traffic = generate(point.workload, seed=point.seed, salt=salt, count=count)
    warmup = imitate(
        traffic.requests,
        count_warmup(point.load),
        seed=point.seed,
        salt=f"warm-up {point.point_id}",
        count=count,
    )
    facts["workload_sha256"] = fingerprint(traffic.requests)
    facts["traffic"] = {
        "num_requests": len(traffic.requests),
        "skipped": traffic.skipped,
        "source_sha256": traffic.source_sha256,
        "lengths_from": traffic.lengths_from,
    }
    order = Order(
        requests=traffic.requests,
        warmup=warmup,
        target=Target(
            base_url=engine.base_url,
            model=engine.model,
            endpoint=point.workload.endpoint,
            temperature=point.workload.temperature,
            extra_body=engine.request_options(),
            timeout_s=point.load.request_timeout_s,
        ),
        load=point.load,
        seed=point.seed,
        api_key_env=point.engine.key_source,
        out=folder / "requests.jsonl",
    )
    sources, gpu_reason = open_sources(engine.sample, engine.pids, client.pids)
    facts["gpu"] = {"available": gpu_reason is None, "reason": gpu_reason}
    with Sampler(folder / "samples.jsonl", params.sampling.period_s, sources):
        result = client.fire(
            order,
            on_progress=lambda progress: emit({"event": "requests", **asdict(progress)}),
            on_warmup=lambda progress: emit({"event": "warmup", **asdict(progress)}),
            check=engine.check,
        )
    facts |= {
        "load_started_at_s": result.started_at_s,
        "load_ended_at_s": result.ended_at_s,
        "client": result.client,
    }


def _begin(run: RunFolder, point: Point) -> Path:
    folder = run.point_folder(point.point_id)
    set_aside(folder)
    folder.mkdir(parents=True)
    return folder


def _describe(point: Point) -> dict[str, Any]:
    engine = point.engine.model_dump(mode="json")
    return {
        "schema": SCHEMA,
        **point.place(),
        "index": point.index,
        "seed": point.seed,
        "status": "running",
        "error": None,
        "engine": {knob: engine[knob] for knob in ("kind", "model", *KNOBS)},
        "effective": {},
        "workload": point.workload.model_dump(mode="json"),
        "load": point.load.model_dump(mode="json"),
        "command": [],
        "started_at_s": None,
        "ready_at_s": None,
        "load_started_at_s": None,
        "load_ended_at_s": None,
        "traffic": None,
        "client": None,
        "cache_reset": None,
    }


def _end(run: RunFolder, status: str, error: str | None) -> None:
    ended_at = datetime.now(UTC).isoformat(timespec="seconds")
    run.update_manifest(status=status, error=error, ended_at=ended_at)


def _tell(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted from the keyboard"
    text = " ".join(str(error).split())
    return text if isinstance(error, LabkitError) else f"{type(error).__name__}: {text}"
