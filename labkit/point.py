"""One point on a ready engine: traffic made, warm-up, load beside sampling, what came recorded.

It must not launch engines, nor know that there are other points or how a latency is derived.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.client.load import Client, Order, Progress
from labkit.client.share import count_warmup
from labkit.client.stream import Target
from labkit.engines import Engine
from labkit.engines.model_config import read_model_config
from labkit.params import EngineParams, Params
from labkit.plan import Point
from labkit.records import SCHEMA
from labkit.telemetry.gpu import open_gpus
from labkit.telemetry.sampler import Sampler, open_sources
from labkit.workload import fingerprint, generate, imitate

OnEvent = Callable[[dict[str, Any]], None]

DEATH_S = 1.0
"""How long the death of an engine may take to be known, once requests failed."""
LOOK_S = 0.05

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


def measure_point(
    params: Params,
    point: Point,
    engine: Engine,
    client: Client,
    folder: Path,
    facts: dict[str, Any],
    emit: OnEvent,
) -> None:
    """Fire a point's traffic at a ready engine while it is sampled, and add what came to `facts`.

    The records go into `folder`. Raises what the engine or the client raises; `facts` then hold
    what was known before.
    """
    facts |= {"command": engine.command, "effective": engine.effective(), "model": engine.model}
    facts["model_config"], facts["model_config_reason"] = read_model_config(point.engine)
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
    own_pids = None if point.engine.kind == "endpoint" else engine.pids
    environment = {**os.environ, **point.engine.env}
    gpus, reason = open_gpus(None, environment, params.sampling.gpus, own_pids)
    facts["gpu"] = {
        "available": gpus is not None,
        "reason": reason,
        "devices": [] if gpus is None else gpus.describe()["devices"],
        "untold": {} if gpus is None else gpus.untold(),
    }
    sources = open_sources(engine.sample, engine.pids, client.pids, gpus)
    sampler = Sampler(folder / "samples.jsonl", params.sampling.period_s, sources)
    try:
        with sampler:
            result = client.fire(
                order,
                on_progress=lambda progress: emit(_stamp("requests", progress)),
                on_warmup=lambda progress: emit(_stamp("warmup", progress)),
                check=engine.check,
            )
    finally:
        facts["sampling"] = sampler.cost()
    facts |= {
        "load_started_at_s": result.started_at_s,
        "load_ended_at_s": result.ended_at_s,
        "client": result.client,
    }
    expect_alive(engine.check, DEATH_S if result.num_error else 0.0)


def _stamp(event: str, progress: Progress) -> dict[str, Any]:
    return {"event": event, "at_s": time.monotonic(), **asdict(progress)}


def expect_alive(check: Callable[[], None], timeout_s: float) -> None:
    """Raise EngineError if the engine died: requests that it drops may tell sooner than it does."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        check()
        if time.monotonic() >= deadline_s:
            return
        time.sleep(LOOK_S)


def describe_point(point: Point) -> dict[str, Any]:
    """Return the record of a point before it is measured: what is asked, and nothing known yet."""
    engine = point.engine.model_dump(mode="json")
    return {
        "schema": SCHEMA,
        **point.place(),
        "index": point.index,
        "seed": point.seed,
        "status": "running",
        "error": None,
        "error_kind": None,
        "stepped_down": [],
        "engine": {knob: engine[knob] for knob in ("kind", "model", *KNOBS)},
        "effective": {},
        "workload": point.workload.model_dump(mode="json"),
        "load": point.load.model_dump(mode="json"),
        "command": [],
        "model_config": None,
        "model_config_reason": None,
        "started_at_s": None,
        "ready_at_s": None,
        "load_started_at_s": None,
        "load_ended_at_s": None,
        "ended_at_s": None,
        "traffic": None,
        "client": None,
        "cache_reset": None,
        "sampling": None,
    }
