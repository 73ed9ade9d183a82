"""`labkit compare` and `labkit diff` from the command line, on records that were made up."""

import json
from pathlib import Path

import pytest
from made_runs import make_run

from labkit.cli import main
from labkit.records import RunFolder

OUTPUT = "output_throughput_tokens_per_s"
GATE = ["--gate", f"{OUTPUT}=-5%"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(home: Path) -> dict[str, RunFolder]:
    reports = home / "reports"
    return {
        "a": make_run(reports, name="a"),
        "same": make_run(reports, name="same", seed=1),
        "slow": make_run(reports, name="slow", seed=2, slower=1.2),
    }


def test_a_slower_run_is_worse(
    runs: dict[str, RunFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "Z-a-", "Z-slow-"]) == 0
    told = capsys.readouterr().out
    assert "max_concurrency 1 (4 repeats each)" in told
    (line,) = [one for one in told.splitlines() if "output throughput" in one][:1]
    assert line.rstrip().endswith("worse")
    assert "better" not in told
    assert "Verdicts hold together at 5 % (Holm, " in told
    assert main(["compare", "Z-slow-", "Z-a-"]) == 0
    assert "better" in capsys.readouterr().out


def test_equal_runs_have_no_difference(
    runs: dict[str, RunFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "Z-a-", "Z-same-"]) == 0
    told = capsys.readouterr().out
    assert "nothing that was asked differs" in told
    assert "or more would have been" in told
    assert "worse" not in told


def test_the_gate_has_three_exit_codes(
    runs: dict[str, RunFolder], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "Z-a-", "Z-same-", *GATE]) == 0
    assert "gate held" in capsys.readouterr().out
    assert main(["compare", "Z-a-", "Z-slow-", *GATE]) == 1
    assert "gate failed" in capsys.readouterr().out
    single = make_run(home / "reports", name="single", repeats=1)
    assert main(["compare", "Z-a-", str(single.path), *GATE]) == 3
    assert "gate can't tell" in capsys.readouterr().out
    gates = home / "gates.yaml"
    gates.write_text(f"{OUTPUT}: -5%\nttft_s.p95: +50%\n", encoding="utf-8")
    assert main(["compare", "Z-a-", "Z-slow-", "--gate", "gates.yaml"]) == 1
    assert main(["compare", "Z-a-", "Z-slow-", "--gate", "nothing.yaml"]) == 2
    gates.write_text("- one\n", encoding="utf-8")
    assert main(["compare", "Z-a-", "Z-slow-", "--gate", "gates.yaml"]) == 2


def test_it_prints_json(runs: dict[str, RunFolder], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Z-a-", "Z-slow-", "--json", *GATE]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["gate"]["state"] == "failed"
    (line,) = [one for one in told["lines"] if one["field"] == OUTPUT and one["value"] == 2]
    assert line["verdict"] == "worse"
    assert line["low"] < line["effect"] < line["high"] < 1
    assert len(line["values_a"]) == 4


def test_more_than_one_thing_is_refused_unless_anyway(
    runs: dict[str, RunFolder], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = make_run(home / "reports", name="mixed", model="n", max_model_len=64)
    assert main(["compare", "Z-a-", str(mixed.path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "found 2: engine.model and engine.max_model_len; see `labkit diff`" in told.err
    assert main(["compare", "Z-a-", str(mixed.path), "--anyway"]) == 0
    assert "more than one thing differs" in capsys.readouterr().err
    assert main(["diff", "Z-a-", str(mixed.path)]) == 0
    told = capsys.readouterr()
    assert "engine.model" in told.out
    assert "m -> n" in told.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Z-a-", "Z-a-"], "expected two runs, found"),
        (["Z-a-", "nobody"], "expected a run folder at nobody"),
        (["Z-a-", "Z-same-", "--effect", "5"], "expected --effect between 0 and 100%"),
    ],
)
def test_a_wrong_request_is_told_in_a_line(
    runs: dict[str, RunFolder],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_the_report_stands_in_a_folder_of_its_own(
    runs: dict[str, RunFolder], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs["a"].path.rglob("*")}
    assert main(["compare", "Z-a-", "Z-slow-", "--report", *GATE]) == 1
    told = capsys.readouterr().out
    (folder,) = (home / "reports").glob("*-compare-a-slow")
    assert f"report: reports/{folder.name}/report.html" in told
    names = {path.name for path in folder.iterdir()}
    assert names == {"compare.ipynb", "comparison.json", "findings.json", "report.html"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Output throughput is worse at max_concurrency 1 and 2" in page
    assert "What differs beside the numbers" in page or "Nothing differs" in page
    findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))["findings"]
    assert findings[0]["kind"] == "cost"
    assert findings[0]["effect"]["high"] < 1
    assert {path: path.stat().st_mtime_ns for path in runs["a"].path.rglob("*")} == before


def test_a_comparison_is_no_run_in_a_list(
    runs: dict[str, RunFolder], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "reports" / "20261203T000000Z-compare-a-slow"
    folder.mkdir()
    (folder / "comparison.json").write_text("{}", encoding="utf-8")
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert "slow" in told
    assert folder.name not in told
