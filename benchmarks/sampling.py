"""What sampling itself costs: engine and host at 10 Hz beside a load on the real llama.cpp.

Prints, for each source, the CPU time of its thread as cores, its jitter and its gaps. Target: all
together under 0.01 of a core. On two slow cores it took 0.008 to 0.009 (engine 0.005, host 0.0035),
in turn with the state before, which took 0.028.

    .venv/bin/python benchmarks/sampling.py [--period 0.1] [--requests 60]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from labkit.analysis import summarize_point
from labkit.records import RunFolder

PARAMS = """
name: sampling
engine: {{kind: llamacpp, model: smollm2, max_num_seqs: 4, max_model_len: 256}}
workload: {{num_requests: {requests}, seed: 1, prompt_tokens: 16, completion_tokens: 32}}
load: {{max_concurrency: 4, num_warmup_requests: 2}}
sampling: {{period_s: {period}}}
sweep: {{variable: engine.max_num_seqs, values: [4]}}
"""


def main() -> None:
    """Run one point in a folder of its own and print what its sampling took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--period", type=float, default=0.1)
    parser.add_argument("--requests", type=int, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        text = PARAMS.format(requests=chosen.requests, period=chosen.period)
        (place / "sampling.yaml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "labkit", "run", "sampling.yaml"]
        subprocess.run(command, cwd=place, check=False)  # 1: the point may be SUSPECT or worse
        (path,) = (one for one in (place / "reports").iterdir() if one.is_dir())
        (records,) = RunFolder(path).points()
        row = summarize_point(records)
        total = 0.0
        for source, told in (row["sampling"] or {}).items():
            total += told["cores"] or 0.0
            print(
                f"{source}: {told['cores']:.4f} cores, {told['n']} samples, {told['gaps']} gaps, "
                f"jitter P99 {told['jitter_p99_s'] * 1000:.1f} ms, "
                f"took P99 {told['took_p99_s'] * 1000:.1f} ms"
            )
        print(f"sampling in all: {total:.4f} cores (target 0.01 at 10 Hz)")
        print(f"{row['validity']}: {'; '.join(row['validity_reasons'])}")


if __name__ == "__main__":
    main()
