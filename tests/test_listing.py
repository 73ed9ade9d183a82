"""A run in one line: cheap, and a damaged one says so."""

from pathlib import Path

import pytest

from labkit.listing import describe_run
from labkit.records import RunFolder, replace_json


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path)
    plan = [{"point_id": "000-a"}, {"point_id": "001-b"}]
    replace_json(run.manifest_path, {"schema": 1, "status": "completed", "plan": plan})
    for entry in plan:
        folder = run.point_folder(entry["point_id"])
        folder.mkdir(parents=True)
        replace_json(folder / "point.json", {"status": "ok"})
        (folder / "requests.jsonl").write_text('{"sent_at_s": "is not read"}')
    return run


def test_a_run_tells_its_points_and_verdicts(run: RunFolder) -> None:
    assert describe_run(run) == "completed  2 of 2 points  no report"
    rows = [{"validity": "VALID"}, {"validity": "INVALID"}]
    replace_json(run.summary_path, {"points": rows})
    run.report_path.touch()
    assert describe_run(run) == "completed  2 of 2 points, 1 INVALID  report.html"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest.json", '{"schema": 1}'),
        ("points/001-b/point.json", "{"),
        ("summary.json", '{"points": 3}'),
    ],
)
def test_a_damaged_run_says_which_file(run: RunFolder, name: str, text: str) -> None:
    (run.path / name).write_text(text)
    told = describe_run(run)
    assert told.startswith("damaged: expected ")
    assert name in told
