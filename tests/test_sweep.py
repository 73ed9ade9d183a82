"""The whole way through the house on the real engine: a command, a notebook, a report."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from access import LOOKS, find_violations, open_browser, open_drawn

from labkit.cli import main
from labkit.engines.model import find_model
from labkit.errors import LabkitError
from labkit.records import RunFolder, read_json

ROOT = Path(__file__).parent.parent
SMALL = """
name: small
engine:
  {kind: llamacpp, model: smollm2, max_num_seqs: 2, max_num_batched_tokens: 64, max_model_len: 256}
workload: {num_requests: 4, seed: 1, prompt_tokens: 16, completion_tokens: 4}
load: {max_concurrency: 2, num_warmup_requests: 1}
sweep: {variable: engine.max_num_seqs, values: [1, 2]}
sampling: {period_s: 0.05}
"""

try:
    find_model("smollm2")
except LabkitError as error:
    pytestmark = pytest.mark.skip(reason=str(error))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("home")
    (path / "params").mkdir()
    (path / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(place: Path) -> RunFolder:
    """A run that `labkit run` made, with its report."""
    code, output = call(place, "run", "params/small.yaml")
    assert code == 0, output
    (path,) = (place / "reports").glob("*/")
    return RunFolder(path)


@pytest.fixture
def again(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(run.path.parent.parent)
    return run


def call(place: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "labkit", *arguments]
    done = subprocess.run(
        command, cwd=place, env=environment(), capture_output=True, text=True, timeout=240
    )
    return done.returncode, done.stdout + done.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_run_leaves_what_the_design_says(run: RunFolder) -> None:
    assert run.manifest()["status"] == "completed"
    assert run.manifest()["notebook"] == {"name": "sweep.ipynb", "status": "completed"}
    names = {path.name for path in run.path.iterdir()}
    assert names >= {"params.yaml", "manifest.json", "summary.json", "summary.csv", "report.html"}
    for records in run.points():
        folder = run.point_folder(records.point_id)
        assert {path.name for path in folder.iterdir()} >= {
            "point.json",
            "requests.jsonl",
            "samples.jsonl",
            "engine.log",
        }
        assert len(records.requests) == 4
        assert {request["status"] for request in records.requests} == {"ok"}
        assert {request["completion_tokens"] for request in records.requests} == {4}
        assert {sample["source"] for sample in records.samples} >= {"engine", "host"}
        assert records.point["effective"]["max_num_seqs"] == records.point["value"]


def test_the_summary_judges_every_point(run: RunFolder) -> None:
    rows = read_json(run.summary_path)["points"]
    assert [(row["value"], row["num_ok"]) for row in rows] == [(1, 4), (2, 4)]
    # what else runs on this machine is no fault of the point
    of_the_machine = ("other processes used", "the client's event loop stalled")
    for row in rows:
        reasons = [one for one in row["validity_reasons"] if not one.startswith(of_the_machine)]
        assert (row["validity"] != "INVALID", reasons) == (True, [])
    for row in rows:
        assert row["ttft_s"]["n"] == 4
        assert 0 < row["ttft_s"]["p50"] <= row["e2e_latency_s"]["p50"]


@pytest.mark.browser
def test_axe_finds_nothing_in_its_report(run: RunFolder) -> None:
    with open_browser() as browser:
        for look in LOOKS:
            assert find_violations(open_drawn(browser, run.report_path, look)) == []


def test_the_report_is_rebuilt_byte_for_byte(again: RunFolder) -> None:
    before = again.report_path.read_bytes()
    again.report_path.unlink()
    assert main(["report", str(again.path)]) == 0
    assert again.report_path.read_bytes() == before
    assert len(before) < 6_000_000
    assert (again.path / "sweep.ipynb").stat().st_size < 1_000_000


def test_a_report_made_afresh_says_the_same(again: RunFolder) -> None:
    before = again.report_path.read_bytes()
    summary = again.summary_path.read_bytes()
    assert main(["report", "--fresh", str(again.path)]) == 0
    assert again.report_path.read_bytes() == before
    assert again.summary_path.read_bytes() == summary


BLOCKED = """
import sys
for name in ("xllamacpp", "pynvml"):
    sys.modules[name] = None
from labkit.cli import main
raise SystemExit(main(sys.argv[1:]))
"""


def test_the_report_needs_neither_engine_nor_gpu_library(again: RunFolder) -> None:
    before = again.report_path.read_bytes()
    again.report_path.unlink()
    command = [sys.executable, "-c", BLOCKED, "report", str(again.path)]
    subprocess.run(command, env=environment(), check=True, timeout=120)
    assert again.report_path.read_bytes() == before


def test_papermill_alone_shows_what_is_there_and_gives_the_same_summary(again: RunFolder) -> None:
    summary = again.summary_path.read_bytes()
    stamps = [(again.point_folder(one.point_id) / "point.json").stat() for one in again.points()]
    output = again.path.parent / "out.ipynb"
    papermill(again.path.parent.parent, output, "-p", "run_dir", str(again.path))
    assert again.summary_path.read_bytes() == summary
    after = [(again.point_folder(one.point_id) / "point.json").stat() for one in again.points()]
    assert [stamp.st_mtime_ns for stamp in after] == [stamp.st_mtime_ns for stamp in stamps]
    cells = {cell.id: cell for cell in nbformat.read(output, as_version=4).cells}
    assert "application/vnd.plotly.v1+json" in str(cells["sweeps"].outputs)
    output.unlink()


def test_papermill_alone_measures_and_refuses_a_misspelt_parameter(place: Path) -> None:
    home = place / "alone"
    (home / "params").mkdir(parents=True)
    (home / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    output = home / "out.ipynb"
    papermill(home, output, "-p", "params_file", "params/small.yaml")
    (path,) = (home / "reports").iterdir()
    rows = read_json(path / "summary.json")["points"]
    assert [row["num_ok"] for row in rows] == [4, 4]
    done = papermill(home, output, "-p", "parms_file", "params/small.yaml", check=False)
    assert done.returncode == 1
    assert "parms_file is not a parameter of this notebook" in done.stderr
    assert "did you mean params_file?" in done.stderr
    assert len(list((home / "reports").iterdir())) == 1


def papermill(
    home: Path, output: Path, *arguments: str, check: bool = True
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "papermill", str(ROOT / "notebooks" / "sweep.ipynb")]
    return subprocess.run(
        [*command, str(output), *arguments],
        cwd=home,
        env=environment(),
        check=check,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_point_that_was_not_measured_is_measured_and_the_old_one_kept(again: RunFolder) -> None:
    first = again.points()[0]
    folder = again.point_folder(first.point_id)
    (folder / "point.json").write_text(json.dumps({**first.point, "status": "failed"}))
    arguments = ["run", str(again.params_path), "--resume", str(again.path)]
    assert main(arguments) == 0
    assert again.points()[0].point["status"] == "ok"
    kept = read_json(folder.with_name(f"{folder.name}.attempt1") / "point.json")
    assert kept["status"] == "failed"


def test_resume_refuses_other_params(again: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", str(again.params_path), "--set", "workload.seed=9"]
    assert main([*arguments, "--resume", str(again.path)]) == 2
    assert "expected the params that" in capsys.readouterr().err


@pytest.fixture
def long_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A run of many requests, caught while its first requests are being answered."""
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    command = [sys.executable, "-m", "labkit", "run", "params/small.yaml"]
    command += ["--set", "workload.num_requests=5000"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment()) as process:
        pause, deadline_s = threading.Event(), time.monotonic() + 60
        while time.monotonic() < deadline_s and process.poll() is None:
            written = list(tmp_path.glob("reports/*/points/*/requests.jsonl"))
            if written and written[0].stat().st_size:
                break
            pause.wait(0.05)
        assert process.poll() is None
        yield process, next(tmp_path.glob("reports/*"))
        process.kill()


@pytest.mark.parametrize("blow", ["ctrl-c", "terminate", "hangup", "kill labkit", "kill kernel"])
def test_nothing_is_left_behind_and_the_status_is_true(
    long_run: tuple[subprocess.Popen[bytes], Path],
    blow: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process, path = long_run
    family = psutil.Process(process.pid).children(recursive=True)
    assert any("llamacpp_server.py" in " ".join(one.cmdline()) for one in family)
    if blow == "kill kernel":
        next(one for one in family if "ipykernel_launcher" in one.cmdline()).kill()
    else:
        numbers = {"ctrl-c": signal.SIGINT, "terminate": signal.SIGTERM, "hangup": signal.SIGHUP}
        number = numbers.get(blow, signal.SIGKILL)
        process.send_signal(number)
    assert process.wait(timeout=60) == (-9 if blow == "kill labkit" else 1)
    assert psutil.wait_procs(family, timeout=30)[1] == []
    monkeypatch.chdir(path.parent.parent)
    assert main(["list"]) == 0
    assert re.search(r"0 of 2 .*interrupted", capsys.readouterr().out)
    run = RunFolder(path)
    (records,) = run.points()
    assert records.point["status"] == "interrupted"
    assert {request["status"] for request in records.requests} >= {"ok"}
    if blow == "kill kernel":
        assert run.manifest()["notebook"]["status"] == "failed"
        assert main(["report", str(path)]) == 0
        assert run.report_path.exists()


def test_an_engine_that_a_failing_cell_leaves_open_ends_with_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    pids = tmp_path / "pids"
    cells = [
        "from labkit.workbook import launch\nlab = launch('params/small.yaml')",
        f"open({str(pids)!r}, 'w').write(repr(lab._running.engine.pids()))\n1 / 0",
    ]
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    nbformat.write(document, tmp_path / "fails.ipynb")
    command = [sys.executable, "-m", "papermill", "-k", "python3", "fails.ipynb", "out.ipynb"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    started = json.loads(pids.read_text())
    assert started
    gone = [psutil.Process(pid) for pid in started if psutil.pid_exists(pid)]
    assert psutil.wait_procs(gone, timeout=20)[1] == []
