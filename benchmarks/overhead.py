"""What labkit itself costs: 10 points of 1,000 requests on the real engine, one token each.

Prints, for each point, the seconds that are neither engine start nor measured load, and the
seconds of the notebook and the report around all points. Targets: 2 s a point, 10 s around.

    .venv/bin/python benchmarks/overhead.py [--points 10] [--requests 1000]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from labkit.records import RunFolder, read_json, read_jsonl

PARAMS = """
name: overhead
engine: {{kind: llamacpp, model: smollm2, max_num_seqs: 8, max_model_len: 64}}
workload: {{num_requests: {requests}, seed: 1, prompt_tokens: 8, completion_tokens: 1}}
load: {{max_concurrency: 8, num_warmup_requests: 2}}
sweep: {{variable: engine.max_num_batched_tokens, values: {values}}}
"""


def main() -> None:
    """Run the sweep in a folder of its own and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--requests", type=int, default=1000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        values = [32 * count for count in range(1, chosen.points + 1)]
        text = PARAMS.format(requests=chosen.requests, values=values)
        (place / "params").mkdir()
        (place / "params" / "overhead.yaml").write_text(text, encoding="utf-8")
        began_at_s = time.monotonic()
        command = [sys.executable, "-m", "labkit", "run", "params/overhead.yaml"]
        subprocess.run(command, cwd=place, check=True)
        total_s = time.monotonic() - began_at_s
        (path,) = (place / "reports").iterdir()
        print_costs(RunFolder(path), total_s)


def print_costs(run: RunFolder, total_s: float) -> None:
    """Print seconds per point and around the points, with the sizes of what was written."""
    events = read_jsonl(run.progress_path)
    began = {one["point_id"]: one["at_s"] for one in events if one["event"] == "point"}
    ended = [one["at_s"] for one in events if one["event"] == "point_end"]
    costs = []
    for (point_id, began_at_s), ended_at_s in zip(began.items(), ended, strict=True):
        point = read_json(run.point_folder(point_id) / "point.json")
        start_s = point["ready_at_s"] - point["started_at_s"]
        load_s = point["load_ended_at_s"] - point["load_started_at_s"]
        costs.append(ended_at_s - began_at_s - start_s - load_s)
        print(
            f"{point_id}: {ended_at_s - began_at_s:6.2f} s = engine start {start_s:.2f} "
            f"+ load {load_s:.2f} + labkit {costs[-1]:.2f}"
        )
    begun_at_s = next(one["at_s"] for one in events if one["event"] == "run")
    selftest_s = min(began.values()) - begun_at_s
    around_s = total_s - (ended[-1] - begun_at_s)
    print(f"self-test of the client, once a run: {selftest_s:.2f} s")
    print(f"labkit per point: at most {max(costs):.2f} s (target 2)")
    print(f"start, notebook and report: {around_s:.2f} s (target 10)")
    print(f"report.html: {run.report_path.stat().st_size / 1e6:.2f} MB (target 6)")
    print(f"sweep.ipynb: {(run.path / 'sweep.ipynb').stat().st_size / 1e6:.3f} MB (target 1)")


if __name__ == "__main__":
    main()
