"""vLLM killed inside a point: the point ends at once, the sweep goes on, the report tells."""

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from real.vllm.running import make_params

pytestmark = pytest.mark.real


@pytest.fixture
def params_file(tmp_path: Path) -> Path:
    engine = make_params(max_model_len=512, max_num_seqs=None, max_num_batched_tokens=None)
    file = tmp_path / "killed.yaml"
    params = {
        "name": "killed",
        "engine": engine.model_dump(mode="json", exclude_none=True),
        "workload": {"kind": "synthetic", "num_requests": 8, "prompt_tokens": 32,
                     "completion_tokens": 16},
        "load": {"mode": "closed", "max_concurrency": 2, "num_warmup_requests": 1},
        "sweep": [{"variable": "engine.max_num_seqs", "values": [1, 2]}],
    }  # fmt: skip
    file.write_text(yaml.safe_dump(params))
    return file


def wait_for_lines(folder: Path, deadline_s: float) -> Path:
    """Return the first records of requests that appear, the warm-up's left out."""
    while time.monotonic() < deadline_s:
        for found in folder.glob("*/points/*/requests.jsonl"):
            if found.read_bytes().count(b"\n") >= 2:
                return found.parent
        time.sleep(0.05)
    raise AssertionError("no request was recorded")


def test_the_point_ends_and_the_sweep_goes_on(params_file: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    with (tmp_path / "out").open("wb") as out:
        run = subprocess.Popen(
            [sys.executable, "-m", "labkit", "run", params_file, "--reports", reports],
            stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        hit = wait_for_lines(reports, time.monotonic() + 240)
        served = [
            one for one in psutil.Process(run.pid).children(recursive=True)
            if "serve" in one.cmdline() and "--max-num-seqs" in one.cmdline()
            and not any("guard" in word for word in one.cmdline())
        ]  # fmt: skip
        killed_at_s = time.monotonic()
        served[0].kill()
        assert run.wait(timeout=300) == 1
    finally:
        run.kill()
    summary = json.loads(next(reports.glob("*/summary.json")).read_text())
    rows = {row["point_id"]: row for row in summary["points"]}
    point = json.loads((hit / "point.json").read_text())
    assert 0 <= point["ended_at_s"] - killed_at_s <= 2.0
    first = rows.pop(hit.name)
    assert (first["status"], first["validity"]) == ("failed", "INVALID")
    assert first["num_requests"] >= 2, "what was measured before is lost"
    [other] = rows.values()
    assert (other["status"], other["num_ok"], other["num_error"]) == ("ok", 8, 0)
    report = next(reports.glob("*/report.html")).read_text()
    assert "What went wrong" in report
    assert "exit code 137 (SIGKILL)" in report
