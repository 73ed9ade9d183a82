"""`labkit run --aa`: one value again and again, its noise stored beside the runs."""

from pathlib import Path

import pytest
import yaml
from made_runs import PARAMS, make_run

from labkit.cli import main
from labkit.records import RunFolder, read_json, replace_json
from labkit.workbook import write_summary


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "made.yaml").write_text(yaml.safe_dump(PARAMS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_shows_the_first_value_alone_launched_each_time(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "params/made.yaml", "--aa", "3", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert told.count("load.max_concurrency = 1, repeat") == 3
    assert "load.max_concurrency = 2" not in told
    assert told.count("nothing is launched") == 3
    assert not (home / "reports").exists()
    assert main(["run", "params/made.yaml", "--aa", "1"]) == 2
    assert "expected 2 or more repeats after --aa, found 1" in capsys.readouterr().err


@pytest.mark.parametrize(("status", "stored"), [("completed", 1), ("interrupted", 0)])
def test_the_noise_of_a_run_that_ended_is_stored(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    stored: int,
) -> None:
    def measure(run: RunFolder, *, measuring: bool) -> None:
        made = make_run(home / "elsewhere", repeats=5)
        for path in ("params.yaml", "points"):
            (made.path / path).rename(run.path / path)
        replace_json(run.manifest_path, made.manifest() | {"status": status})
        write_summary(run)

    monkeypatch.setattr("labkit.publish.make_notebook", measure)
    monkeypatch.setattr("labkit.publish.write_report", lambda run: run.path)
    assert main(["run", "params/made.yaml", "--aa", "5"]) == 0
    files = list((home / "reports").glob("noise/*.json"))
    assert len(files) == stored
    told = capsys.readouterr().out
    assert ("noise: reports/noise/" in told) == bool(stored)
    if stored:
        (entry,) = read_json(files[0])["entries"]
        assert entry["metrics"]["output_throughput_tokens_per_s"]["n"] == 5
        assert "output throughput" in told
