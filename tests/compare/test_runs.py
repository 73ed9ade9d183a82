"""Runs found by path or by name, read without being changed."""

from pathlib import Path

import pytest
from made_runs import make_run

from labkit.compare.runs import open_run, read_run
from labkit.errors import ParamsError, RecordsError


def test_a_run_is_found_by_path_by_name_and_by_a_part_of_it(tmp_path: Path) -> None:
    one = make_run(tmp_path, name="one")
    make_run(tmp_path, name="other")
    for text in (str(one.path), one.path.name, "-one-"):
        assert open_run(text, tmp_path).path.resolve() == one.path.resolve()
    assert "other" in open_run("latest", tmp_path).path.name
    with pytest.raises(ParamsError, match=r"found 2, the newest .*one.*, .*other"):
        open_run("Z-o", tmp_path)
    with pytest.raises(RecordsError, match="expected a run folder at nobody"):
        open_run("nobody", tmp_path)


def test_reading_writes_no_summary(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    told = read_run(run)
    assert sorted(tmp_path.rglob("*")) == before
    assert len(told.summary["points"]) == len(told.points) == 8
    assert {row["validity"] for row in told.summary["points"]} <= {"VALID", "SUSPECT"}
