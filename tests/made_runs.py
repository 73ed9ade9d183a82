"""Run folders with made-up records, as if an endpoint had been measured: no engine, no waiting."""

import json
import random
from pathlib import Path

from labkit.params import parse_params
from labkit.plan import make_plan
from labkit.point import describe_point
from labkit.records import RunFolder, replace_json
from labkit.request import create_run

PARAMS = {
    "name": "made",
    "engine": {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model": "m"},
    "workload": {"kind": "synthetic", "num_requests": 24, "prompt_tokens": 8,
                 "completion_tokens": 4},
    "load": {"mode": "closed", "max_concurrency": 2},
    "sweep": {"variable": "load.max_concurrency", "values": [1, 2], "repeats": 4},
}  # fmt: skip


def make_run(
    reports: Path,
    *,
    slower: float = 1.0,
    noise: float = 0.01,
    seed: int = 0,
    repeats: int = 4,
    name: str = "made",
    **engine: object,
) -> RunFolder:
    """Make a run whose requests take `slower` times 0.1 s, all of a repeat a little off alike."""
    sweep = {**PARAMS["sweep"], "repeats": repeats}
    data = {**PARAMS, "name": name, "engine": {**PARAMS["engine"], **engine}, "sweep": sweep}
    params = parse_params(data, source="test")
    plan = make_plan(params)
    run = create_run(params, plan, reports)
    rng = random.Random(seed)
    for point in plan:
        folder = run.point_folder(point.point_id)
        folder.mkdir(parents=True)
        took_s = 0.1 * slower * rng.lognormvariate(0, noise)
        lines = []
        for number in range(24):
            sent_s = 100.0 + number * took_s
            lines.append(
                {
                    "request_id": f"r{number}",
                    "intended_at_s": None,
                    "sent_at_s": sent_s,
                    "headers_at_s": sent_s + took_s / 8,
                    "first_token_at_s": sent_s + took_s / 4,
                    "last_token_at_s": sent_s + took_s,
                    "finished_at_s": sent_s + took_s,
                    "chunk_at_s": [sent_s + took_s / 4 * part for part in (1, 2, 3, 4)],
                    "first_chunk_tokens": 1,
                    "prompt_tokens": 8,
                    "completion_tokens": 4,
                    "tokens_source": "usage",
                    "finish_reason": "length",
                    "status": "ok",
                }
            )
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "requests.jsonl").write_text(text, encoding="utf-8")
        (folder / "samples.jsonl").write_text("", encoding="utf-8")
        facts = {
            "status": "ok",
            "started_at_s": 99.0,
            "load_started_at_s": 100.0,
            "load_ended_at_s": 100.0 + 24 * took_s,
            "ended_at_s": 104.0,
            "workload_sha256": f"{point.point_id} {point.seed}",
            "traffic": {"num_requests": 24, "skipped": {}, "source_sha256": None},
        }
        replace_json(folder / "point.json", describe_point(point) | facts)
    run.update_manifest(status="completed")
    return run
