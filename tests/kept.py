"""Runs on disk, written by hand: what a measurement leaves behind, with numbers that are known."""

import json
from pathlib import Path
from typing import Any

from labkit.params import parse_params
from labkit.plan import make_plan
from labkit.point import describe_point
from labkit.records import RunFolder, replace_json
from labkit.request import create_run


def keep_run(reports: Path, name: str = "small", sweep: Any = None, **engine: Any) -> RunFolder:
    """Write a run of max_concurrency 1 and 2, each of two requests, the second one's last failed;
    `sweep` takes the place of that one.

    A point of n in flight sends at 100.0 s and n seconds later; TTFT is 0.5 s, three tokens come
    0.1 s apart. The load begins at 99.5 s; engine and host are looked at at 100.0 s.
    """
    told = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model": "m", **engine}
    params = parse_params(
        {
            "name": name,
            "engine": told,
            "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 3},
            "load": {"max_concurrency": 2},
            "sweep": sweep or {"variable": "load.max_concurrency", "values": [1, 2]},
        }
    )
    plan = make_plan(params)
    run = create_run(params, plan, reports)
    for point in plan:
        folder = run.point_folder(point.point_id)
        folder.mkdir(parents=True)
        stamps = {"started_at_s": 99.0, "load_started_at_s": 99.5, "load_ended_at_s": 104.0}
        replace_json(folder / "point.json", {**describe_point(point), **stamps, "status": "ok"})
        failed = point.value == 2
        requests = [_request(0, 100.0), _request(1, 100.0 + point.value, failed=failed)]
        samples = [
            {"source": "engine", "at_s": 100.0, "kv_cache_usage": 0.25},
            {"source": "host", "at_s": 100.0, "engine_memory_bytes": 2**30},
        ]
        for file, rows in (("requests.jsonl", requests), ("samples.jsonl", samples)):
            (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    run.update_manifest(status="completed", notebook={"name": "sweep.ipynb", "status": "completed"})
    return run


def _request(number: int, sent: float, *, failed: bool = False) -> dict[str, Any]:
    told = {
        "request_id": f"r{number:05}",
        "intended_at_s": sent,
        "sent_at_s": sent,
        "headers_at_s": sent + 0.1,
        "first_token_at_s": sent + 0.5,
        "last_token_at_s": sent + 0.7,
        "finished_at_s": sent + 0.75,
        "chunk_at_s": [sent + 0.5, sent + 0.6, sent + 0.7],
        "prompt_tokens": 8,
        "completion_tokens": 3,
        "status": "ok",
    }
    if failed:
        bare = dict.fromkeys(("first_token_at_s", "last_token_at_s", "completion_tokens"))
        return {**told, **bare, "chunk_at_s": [], "status": "error", "error_kind": "timeout"}
    return told
