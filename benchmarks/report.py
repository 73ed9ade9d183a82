"""What the report of a large run costs: 10 points of 10,000 requests of 200 chunks each.

Writes such a run, then reads, summarises, executes the notebook and exports the page in a process
of its own, and prints its seconds and peak memory (RSS). Targets: 20 s and 1.5 GiB. With --browser
a timeline of 1,000, 10,000 and 100,000 requests is drawn and zoomed in Chromium instead.

    .venv/bin/python benchmarks/report.py [--points 10] [--requests 10000] [--chunks 200]
    .venv/bin/python benchmarks/report.py --browser
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from memory import (
    MIB,
    RATE_PER_S,
    make_point,
    make_requests,
    make_samples,
    measure_peak,
)
from nbformat.v4 import new_code_cell, new_notebook, new_output

from labkit.analysis import summarize_point
from labkit.params import load_params
from labkit.plan import make_plan
from labkit.publish import write_report
from labkit.records import PointRecords, RunFolder, replace_json
from labkit.report.export import export_report
from labkit.report.figures import plot_timeline
from labkit.request import create_run

PARAMS = """
name: large
engine: {{kind: endpoint, base_url: "http://127.0.0.1:9/v1", model: m}}
workload: {{kind: synthetic, num_requests: {requests}, prompt_tokens: 512,
  completion_tokens: {chunks}}}
load: {{mode: open, request_rate_per_s: {rate}, num_warmup_requests: 0}}
sweep: [{{variable: load.request_rate_per_s, values: [{rate}], repeats: {points}}}]
slo: {{ttft_s: 1.0}}
"""
TARGET_S, TARGET_MIB = 20, 1536
SIZES = (1_000, 10_000, 100_000)
ZOOM = """async () => {
    const plot = document.querySelector("#figure-1"), times = [];
    const end = plot.layout.xaxis.range[1];
    for (let step = 1; step <= 5; step++) {
        const began = performance.now();
        await Plotly.relayout(plot, {"xaxis.range": [end * 0.3, end * (1 - step / 10)]});
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - began);
    }
    return Math.max(...times);
}"""


def main() -> None:
    """Write the run and print what its report cost, or what a browser takes for a timeline."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--browser", action="store_true", help="draw and zoom timelines instead")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.report:
        report(RunFolder.open(chosen.report))
        return
    with tempfile.TemporaryDirectory() as name:
        if chosen.browser:
            browse(Path(name))
            return
        run = write_run(Path(name), chosen.points, chosen.requests, chosen.chunks)
        size = sum(path.stat().st_size for path in run.path.rglob("*.jsonl"))
        print(f"{chosen.points} points of {chosen.requests:,} requests: {size / MIB:,.0f} MiB")
        subprocess.run([sys.executable, __file__, "--report", str(run.path)], check=True)


def write_run(path: Path, num_points: int, num_requests: int, num_chunks: int) -> RunFolder:
    """Write a completed run of points with the same made up records, and return it."""
    file = path / "large.yaml"
    file.write_text(
        PARAMS.format(requests=num_requests, chunks=num_chunks, rate=RATE_PER_S, points=num_points)
    )
    params = load_params(file)
    plan = make_plan(params)
    run = create_run(params, plan, path / "reports")
    records = make_records(num_requests, num_chunks)
    lines = [
        "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        for rows in (records.requests, records.samples)
    ]
    for point in plan:
        folder = run.point_folder(point.point_id)
        folder.mkdir(parents=True)
        replace_json(folder / "point.json", {**records.point, **point.place()})
        (folder / "requests.jsonl").write_text(lines[0])
        (folder / "samples.jsonl").write_text(lines[1])
    run.update_manifest(status="completed")
    return run


def make_records(num_requests: int, num_chunks: int) -> PointRecords:
    """Return a point under an open load with the engine sampled to its end."""
    point = make_point(num_requests, num_chunks)
    samples = list(make_samples(num_requests))
    return PointRecords("000-large", point, list(make_requests(num_requests, num_chunks)), samples)


def report(run: RunFolder) -> None:
    """Make the report of a run and print seconds and peak memory; the kernel is a child."""
    began_at_s = time.perf_counter()
    html = write_report(run, fresh=True)
    seconds = time.perf_counter() - began_at_s
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = time.process_time() + child.ru_utime + child.ru_stime
    kernel = child.ru_maxrss
    kernel *= 1 if sys.platform == "darwin" else 1024
    print(
        f"report: {seconds:.1f} s (target {TARGET_S}), {cpu_s:.1f} s of CPU time, "
        f"{html.stat().st_size / 1e6:.1f} MB"
    )
    print(
        f"peak memory: kernel {kernel / MIB:,.0f} MiB, this process {measure_peak() / MIB:,.0f} "
        f"MiB (target {TARGET_MIB:,} for both)"
    )


def browse(folder: Path) -> None:
    """Print how long Chromium takes to draw and to zoom timelines of each size."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        sys.exit("expected chromium in PATH, found none")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for size in SIZES:
            records = make_records(size, 20)
            figure = plot_timeline(records, summarize_point(records)).to_json()
            html, kilobytes = export(folder, figure)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(html.as_uri())
            page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
            drawn_s = page.evaluate("performance.now()") / 1000
            zoomed_ms = page.evaluate(ZOOM)
            print(
                f"{size:,} requests: {kilobytes:,.0f} kB, drawn {drawn_s:.2f} s after the page was "
                f"opened, a zoom takes {zoomed_ms:.0f} ms at most"
            )
            page.close()
        browser.close()


def export(folder: Path, text: str) -> tuple[Path, float]:
    """Write a page with the figure of this JSON alone; return it and the figure's size in kB."""
    output = new_output("display_data", {"application/vnd.plotly.v1+json": json.loads(text)})
    notebook = folder / "timeline.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("", outputs=[output])]), notebook)
    export_report(notebook, folder / "timeline.html", title="timeline")
    return folder / "timeline.html", len(text) / 1e3


if __name__ == "__main__":
    main()
