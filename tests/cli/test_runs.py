"""`labkit list` looks where `labkit run` and the notebooks write, from wherever it is called."""

import json
from pathlib import Path

import pytest
from kept import keep_run

from labkit.cli import main
from labkit.errors import EngineError
from labkit.params import load_params
from labkit.plan import make_plan
from labkit.records import RunFolder
from labkit.request import create_run
from labkit.workbook import write_summary

PARAMS = """
name: small
engine: {kind: endpoint, base_url: 'http://127.0.0.1:1/v1'}
workload: {num_requests: 2, prompt_tokens: 8, completion_tokens: 2}
load: {max_concurrency: 2}
sweep: {variable: load.max_concurrency, values: [1, 2]}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("params", "notebooks/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "params" / "small.yaml").write_text(PARAMS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("here", [".", "notebooks", "notebooks/deep", "params"])
def test_list_finds_what_run_made(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    made: list[Path] = []

    def keep(params, plan, reports):  # and measure nothing
        made.append(create_run(params, plan, reports).path)
        raise KeyboardInterrupt

    monkeypatch.setattr("labkit.request.create_run", keep)
    monkeypatch.chdir(home / here)
    assert main(["run", "params/small.yaml"]) == 1
    assert main(["list", "--html"]) == 0
    capsys.readouterr()
    assert made[0].parent == home / "reports"
    assert main(["list"]) == 0
    head, line, _, place = capsys.readouterr().out.splitlines()
    assert line.startswith(made[0].name)
    assert line[head.index("points") :].split("  ")[0] == "0 of 2"
    shown = "reports" if here == "." else str(home / "reports")
    assert place == f"runs in {shown}; all on one page: {shown}/index.html"


def test_another_place_is_looked_at_only_if_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    params = load_params(home / "params" / "small.yaml")
    run = create_run(params, make_plan(params), home / "elsewhere")
    assert main(["list"]) == 0
    assert "no runs in reports; `labkit run" in capsys.readouterr().out
    assert main(["list", "--reports", "elsewhere"]) == 0
    assert run.path.name in capsys.readouterr().out


def test_no_runs_below_the_home_folder_names_the_place(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "notebooks")
    assert main(["list"]) == 0
    assert f"no runs in {home / 'reports'};" in capsys.readouterr().out


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(home)
    return keep_run(home / "reports")


def test_json_for_machines(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    assert told["reports"] == str(run.path.parent)
    assert told["index"] is None
    (one,) = told["runs"]
    assert (one["run_id"], one["name"], one["num_points"]) == (run.path.name, "small", 2)
    assert main(["list", "--json", "no such words"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []


def test_words_choose(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "endpoint", "small"]) == 0
    assert run.path.name in capsys.readouterr().out
    assert main(["list", "endpoint", "large"]) == 0
    assert capsys.readouterr().out == "no run in reports has all of these words: endpoint large\n"


def test_the_page_is_made_and_told(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "`labkit list --html` makes it" in capsys.readouterr().out
    assert main(["list", "--html"]) == 0
    assert capsys.readouterr().out == "index: reports/index.html\n"
    assert run.path.name in (run.path.parent / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", ["latest", "id", "folder"])
def test_a_report_rebuilds_the_page(
    run: RunFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
) -> None:
    monkeypatch.setattr("labkit.publish.write_report", lambda run, *, fresh: run.report_path)
    named = {"latest": "latest", "id": run.path.name, "folder": f"reports/{run.path.name}"}[asked]
    assert main(["report", named]) == 0
    assert run.path.name in (run.path.parent / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_run_rebuilds_the_page_however_it_ends(
    home: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.chdir(home)

    def make(run: RunFolder, *, measuring: bool) -> None:
        if ends == "badly":
            raise EngineError("it died")
        write_summary(run)

    monkeypatch.setattr("labkit.publish.make_notebook", make)
    monkeypatch.setattr("labkit.publish.write_report", lambda run: run.report_path)
    assert main(["run", "params/small.yaml"]) == 1
    assert "-small-" in (home / "reports" / "index.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_told_and_no_more(
    run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.publish.write_report", lambda run, *, fresh: run.report_path)
    (run.path.parent / "index.html").write_text("mine")
    assert main(["report", "latest"]) == 0
    error = capsys.readouterr().err
    assert error.startswith("labkit: expected labkit's own page at ")
    assert error.count("\n") == 1
    assert main(["list", "--html"]) == 2
