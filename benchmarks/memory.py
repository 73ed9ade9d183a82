"""What a large point costs: 100,000 requests of 200 chunks, read, summarised and drawn.

Writes such a point into a folder of its own, then reads and summarises it in a process of its own,
and prints that process's peak memory (RSS) and seconds. Targets: 2 GiB; a timeline of 2 MB. With
--record the point is not made up: the client sends every request to a server that does no work and
records what came (about ten minutes), and its own peak is printed as well (Linux only).

    .venv/bin/python benchmarks/memory.py [--requests 100000] [--chunks 200] [--record]
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.analysis import summarize_point
from labkit.client.load import Client, Order
from labkit.client.stream import Target
from labkit.params import LoadParams
from labkit.records import RunFolder, replace_json
from labkit.report.figures import plot_timeline
from labkit.workload import Request

RATE_PER_S = 100.0
GAP_S = 0.012
SAMPLE_PERIOD_S = 0.25
MIB = 2**20


def main() -> None:
    """Write the point, measure a process that summarises it, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--record", action="store_true", help="let the client send and record")
    parser.add_argument("--summarise", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.summarise:
        summarise(RunFolder(chosen.summarise))
        return
    with tempfile.TemporaryDirectory() as name:
        run = write_run(Path(name), chosen.requests, chosen.chunks)
        if chosen.record:
            record(run.point_folder("000-large"), chosen.requests, chosen.chunks)
        size = sum(path.stat().st_size for path in run.path.rglob("*.jsonl"))
        print(f"{chosen.requests:,} requests of {chosen.chunks} chunks: {size / MIB:,.0f} MiB")
        command = [sys.executable, __file__, "--summarise", str(run.path)]
        subprocess.run(command, check=True)


def write_run(path: Path, num_requests: int, num_chunks: int) -> RunFolder:
    """Write a run of one point under an open load, its stamps rounded to microseconds."""
    run = RunFolder(path)
    folder = run.point_folder("000-large")
    folder.mkdir(parents=True)
    plan = [{"point_id": "000-large"}]
    replace_json(run.manifest_path, {"schema": 1, "status": "completed", "plan": plan})
    replace_json(folder / "point.json", make_point(num_requests, num_chunks))
    for name, rows in (
        ("requests", make_requests(num_requests, num_chunks)),
        ("samples", make_samples(num_requests)),
    ):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
    return run


def find_end_s(num_requests: int) -> float:
    """Return when such a load ends, in s of the monotonic clock."""
    return 1000.0 + num_requests / RATE_PER_S + 10.0


def make_point(num_requests: int, num_chunks: int) -> dict[str, Any]:
    """Return what is known of a point under an open load that ended."""
    return {
        "status": "ok",
        "variable": "load.request_rate_per_s",
        "value": RATE_PER_S,
        "workload": {"num_requests": num_requests, "completion_tokens": num_chunks},
        "load": {"mode": "open", "request_rate_per_s": RATE_PER_S, "max_concurrency": None},
        "load_started_at_s": 1000.0,
        "load_ended_at_s": find_end_s(num_requests),
    }


def make_samples(num_requests: int) -> Iterator[dict[str, Any]]:
    """Yield looks at the engine until the load ends."""
    for count in range(int((find_end_s(num_requests) - 1000.0) / SAMPLE_PERIOD_S)):
        yield {
            "source": "engine",
            "at_s": 1000.0 + count * SAMPLE_PERIOD_S,
            "num_requests_running": 200,
            "num_requests_waiting": count % 7,
            "kv_cache_usage": 0.5,
            "error": None,
        }


def record(folder: Path, num_requests: int, num_chunks: int) -> None:
    """Put what the client recorded in place of the made up requests, and print what it took."""
    out, samples = folder / "requests.jsonl", folder / "samples.jsonl"
    out.unlink()
    samples.write_text("")
    requests = [
        Request(f"r{number:06d}", (("user", f"r{number:06d}"),), num_chunks, 1)
        for number in range(num_requests)
    ]
    command = [sys.executable, "-m", "labkit.client.nullserver"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().decode().strip()}/v1"
        target = Target(url, "m", "completions", 0.0, {}, 600.0)
        load = LoadParams(max_concurrency=128, num_workers=1)
        with Client() as client:
            order = Order(requests, [], target, load, 0, None, out)
            told = client.fire(order, on_progress=lambda progress: None, check=lambda: None)
            peaks = [read_peak(pid) for pid in client.pids()]
        server.kill()
    seconds = told.ended_at_s - told.started_at_s
    print(
        f"recorded: {told.num_done:,} requests, {told.num_error} failed, {seconds:.0f} s, "
        f"{num_requests * num_chunks / seconds:,.0f} chunks/s; client "
        f"{max(peaks) / MIB:,.0f} MiB at most, this process {measure_peak() / MIB:,.0f} MiB"
    )
    point = json.loads((folder / "point.json").read_text())
    point["load"] = {"mode": "closed", "max_concurrency": 128}
    point |= {"load_started_at_s": told.started_at_s, "load_ended_at_s": told.ended_at_s}
    replace_json(folder / "point.json", point)


def read_peak(pid: int) -> int:
    """Return the peak resident memory of another process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def make_requests(num_requests: int, num_chunks: int) -> Iterator[dict[str, Any]]:
    """Yield the records of a seeded Poisson load whose answers come at a steady pace."""
    draw = random.Random(1)
    due_s = 1000.0
    for number in range(num_requests):
        due_s += draw.expovariate(RATE_PER_S)
        first_s = due_s + 0.2 + draw.random() * 0.1
        stamps = [round(first_s + GAP_S * place, 6) for place in range(num_chunks)]
        yield {
            "request_id": f"000-large-{number:06d}",
            "intended_at_s": round(due_s, 6),
            "released_at_s": round(due_s, 6),
            "sent_at_s": round(due_s + 0.0004, 6),
            "headers_at_s": round(due_s + 0.1, 6),
            "first_token_at_s": stamps[0],
            "last_token_at_s": stamps[-1],
            "finished_at_s": round(stamps[-1] + 0.0002, 6),
            "chunk_at_s": stamps,
            "task_id": None,
            "step": None,
            "prompt_tokens": 512,
            "completion_tokens": num_chunks,
            "cached_tokens": None,
            "tokens_source": "usage",
            "finish_reason": "length",
            "status": "ok",
            "error_kind": None,
            "error_message": None,
            "http_status": 200,
        }


def summarise(run: RunFolder) -> None:
    """Read, summarise and draw the point of a run, and print seconds and peak memory of each."""
    before = measure_peak()
    began_at_s = time.perf_counter()
    records = run.point("000-large")
    assert records is not None
    tell("read", began_at_s)
    began_at_s = time.perf_counter()
    row = summarize_point(records, {"ttft_s": 1.0})
    tell("summarised", began_at_s)
    print(f"itl_s: {row['itl_s']['n']:,} gaps; {row['validity']} {row['validity_reasons']}")
    print(f"peak memory: {measure_peak() / MIB:,.0f} MiB (target 2,048), {before / MIB:,.0f} bare")
    began_at_s = time.perf_counter()
    figure = plot_timeline(records, row).to_json()
    tell("timeline", began_at_s)
    print(f"timeline: {len(figure) / 1e6:.2f} MB (target 2)")


def tell(what: str, began_at_s: float) -> None:
    """Print how long a step took and the peak memory up to now."""
    seconds = time.perf_counter() - began_at_s
    print(f"{what}: {seconds:.1f} s, {measure_peak() / MIB:,.0f} MiB at most")


def measure_peak() -> int:
    """Return the peak resident memory of this process in bytes; macOS tells bytes, Linux KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()
