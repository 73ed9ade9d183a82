"""What the notebook of a comparison calls."""

from pathlib import Path

import pytest
from made_runs import make_run

from labkit.compare.book import compare
from labkit.errors import ParamsError
from labkit.records import read_json


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


def test_it_keeps_what_it_found_in_a_folder_of_its_own(reports: Path) -> None:
    a, b = make_run(reports, name="a"), make_run(reports, name="b", slower=1.3)
    book = compare(a.path.name, b.path.name)
    assert book.folder.parent == reports
    assert book.folder.name.endswith("Z-compare-a-b")
    told = read_json(book.folder / "comparison.json")
    assert {line["verdict"] for line in told["lines"]} == {"worse"}
    assert "worse in B" in read_json(book.folder / "findings.json")["headline"]


def test_a_run_that_is_not_there_is_not_made_up(reports: Path) -> None:
    a = make_run(reports)
    with pytest.raises(ParamsError, match="expected two runs as run_a and run_b, found one"):
        compare(str(a.path), "", measuring=False)
    with pytest.raises(ParamsError, match="expected two runs as run_a and run_b, found one"):
        compare("", str(a.path), measuring=True)


def test_a_run_folder_is_no_place_for_a_comparison(reports: Path) -> None:
    a = make_run(reports)
    with pytest.raises(ParamsError, match="use `labkit compare A B`"):
        compare(run_dir=str(a.path))


def test_more_than_one_thing_is_refused_here_too(reports: Path) -> None:
    a = make_run(reports)
    b = make_run(reports, model="n", max_model_len=64)
    with pytest.raises(ParamsError, match="expected one thing that differs"):
        compare(str(a.path), str(b.path))
    assert compare(str(a.path), str(b.path), anyway=True).found.things
