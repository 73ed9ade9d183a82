"""The command line: one clear line for every mistake, and the exit codes of the design."""

import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cli import main
from labkit.params import load_params
from labkit.plan import make_plan
from labkit.records import replace_json
from labkit.request import create_run

PARAMS = """
name: small
engine: {kind: llamacpp, model: smollm2, max_num_seqs: 2}
workload: {num_requests: 2, prompt_tokens: 8, completion_tokens: 2}
load: {max_concurrency: 2}
sweep: {variable: engine.max_num_seqs, values: [1, 2]}
"""


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(PARAMS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("engine.max_num_seq=4", "did you mean max_num_seqs?"),
        ("engine.max_num_seqs=many", "valid integer"),
        ("sweep.variable=engine.max_seqs", "did you mean engine.max_num_seqs?"),
        ("engine.model=/nowhere/model.gguf", "/nowhere/model.gguf"),
        ("engine.model=org/some-model", "org/some-model"),
        ("engine.block_size=16", "block_size"),
        ("engine.extra_args={n_paralel: 3}", "n_paralel"),
    ],
)
def test_a_wrong_request_is_one_line_and_code_2(
    params: Path, capsys: pytest.CaptureFixture[str], override: str, told: str
) -> None:
    assert main(["run", str(params), "--set", override]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.startswith("labkit: ")
    assert error.count("\n") == 1
    assert not (params.parent / "reports").exists()


def test_a_dry_run_shows_every_point_and_launches_nothing(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(params), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "000-max_num_seqs-1-r0" in output
    assert "001-max_num_seqs-2-r0" in output
    assert "llamacpp_server.py" in output
    assert not (params.parent / "reports").exists()


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "expected a run folder" in capsys.readouterr().err


def test_an_endpoint_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "http://127.0.0.1:1/v1"]) == 1
    error = capsys.readouterr().err
    assert "127.0.0.1:1" in error
    assert error.count("\n") == 1


def test_a_key_that_is_not_exported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert main(["verify", "http://127.0.0.1:1/v1", "--api-key-env", "SOME_KEY"]) == 2
    assert "export SOME_KEY=" in capsys.readouterr().err


def test_no_runs_yet(params: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "no runs in reports" in capsys.readouterr().out


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys\nfrom labkit.cli import main\ntry:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'papermill', 'plotly', 'openai', 'pandas', 'nbconvert'}\n"
        "raise SystemExit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_obstacle(params: Path, closed: str) -> None:
    code = (
        "import os, subprocess, sys\nfrom labkit.cli import main\nmain(['list'])\n"
        "assert None not in (sys.stdin, sys.stdout, sys.stderr)\n"
        "raise SystemExit(subprocess.call([sys.executable, '-c', "
        "'import os; [os.fstat(n) for n in range(3)]']))"
    )
    command = ["bash", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("path", ["~nouser/small.yaml", "small\0.yaml"])
def test_a_path_that_cannot_be(params: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert main(["run", path]) == 2
    error = capsys.readouterr().err
    assert error.startswith("labkit: expected a")
    assert error.count("\n") == 1


def test_a_folder_of_runs_that_is_not_there(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--reports", "nowhere"]) == 2
    assert "expected a folder of runs at nowhere" in capsys.readouterr().err


def test_a_damaged_run_does_not_hide_the_others(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, text in enumerate(['{"schema": 1}', '{"status": "completed", "plan": []}']):
        folder = params.parent / "reports" / f"2026010{number + 1}T000000Z-a-00000000"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(text)
        (folder / "params.yaml").write_text(PARAMS)
    assert main(["list"]) == 0
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert "damaged: expected status" in first
    assert "0 of 0" in second


def test_resuming_dry_plans_what_is_missing(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = load_params(params)
    run = create_run(asked, make_plan(asked), params.parent / "reports")
    folder = run.point_folder("000-max_num_seqs-1-r0")
    folder.mkdir(parents=True)
    replace_json(folder / "point.json", {"status": "ok"})
    assert main(["run", str(params), "--resume", str(run.path), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "000-max_num_seqs-1-r0" not in output
    assert "001-max_num_seqs-2-r0" in output
