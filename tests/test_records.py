"""Records: appended, atomic, nothing lost, a status that is true."""

import gc
import json
import math
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from labkit.errors import RecordsError
from labkit.records import (
    JsonlWriter,
    RunFolder,
    create_folder,
    list_runs,
    read_jsonl,
    read_requests,
    replace_json,
    set_aside,
)


def make_run(path: Path, status: str = "running") -> RunFolder:
    path.mkdir(parents=True)
    run = RunFolder(path)
    plan = [{"point_id": "000-a"}, {"point_id": "001-b"}]
    replace_json(run.manifest_path, {"schema": 1, "status": status, "error": None, "plan": plan})
    return run


def test_rows_come_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"at_s": 0.1 + 0.2, "text": "a\nb"}, {"at_s": None}]
    with JsonlWriter(path) as writer:
        for row in rows:
            writer.write(row)
    assert read_jsonl(path) == rows


def test_a_line_cut_by_a_kill_costs_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":')
    with JsonlWriter(path) as writer:
        writer.write({"a": 3})
    assert read_jsonl(path) == [{"a": 1}, {"a": 3}]


def test_stamps_of_chunks_are_packed_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    stamps = [0.1 + 0.2, 1e5 / 3]
    rows = [
        {"request_id": "a", "chunk_at_s": stamps, "chunk_tokens": [1, 2]},
        {"request_id": "b", "chunk_at_s": []},
        {"request_id": "c", "chunk_at_s": None, "chunk_tokens": [None]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + '\n{"request_id": "torn", "chu')
    first, empty, none = read_requests(path)
    assert first == {
        **rows[0],
        "chunk_at_s": array("d", stamps),
        "chunk_tokens": array("d", [1, 2]),
    }
    assert len(empty["chunk_at_s"]) == 0
    assert none == rows[2]
    assert read_requests(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("on", [True, False])
def test_reading_leaves_the_collector_as_it_was(tmp_path: Path, on: bool) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"chunk_at_s": ["soon"]}\n')
    was_on = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        with pytest.raises(RecordsError):
            read_requests(path)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was_on else gc.disable)()


def test_nan_is_refused_and_the_old_document_stays(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    replace_json(path, {"a": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        replace_json(path, {"a": math.nan})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["document.json"]


def test_a_folder_is_never_taken_twice(tmp_path: Path) -> None:
    assert [create_folder(tmp_path, "run").name for _ in range(3)] == ["run", "run-2", "run-3"]


def test_points_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for point_id in ("001-b", "000-a"):
        run.point_folder(point_id).mkdir(parents=True)
        replace_json(run.point_folder(point_id) / "point.json", {"status": "ok"})
    assert [records.point_id for records in run.points()] == ["000-a", "001-b"]


def test_points_are_read_when_asked_for_and_not_kept(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for point_id in ("000-a", "001-b"):
        run.point_folder(point_id).mkdir(parents=True)
        replace_json(run.point_folder(point_id) / "point.json", {"status": "running"})
    points = run.points()
    replace_json(run.point_folder("001-b") / "point.json", {"status": "ok"})
    assert points[-1].point == {"status": "ok"}
    assert [records.point_id for records in points[:1]] == ["000-a"]
    assert points[0] is not points[0]
    with pytest.raises(IndexError):
        points[2]


def test_a_point_knows_the_ceiling_of_the_client(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.point_folder("000-a").mkdir(parents=True)
    replace_json(run.point_folder("000-a") / "point.json", {"status": "ok"})
    assert run.points()[0].headroom is None
    run.update_manifest(headroom={"chunks_per_s": 9.0}, headroom_reason=None)
    assert run.points()[0].headroom == {"chunks_per_s": 9.0}


def test_a_run_that_nobody_holds_was_interrupted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.point_folder("000-a").mkdir(parents=True)
    replace_json(run.point_folder("000-a") / "point.json", {"status": "running", "error": None})
    run.settle()
    assert run.manifest()["status"] == "interrupted"
    assert run.points()[0].point["status"] == "interrupted"


HOLDER = """
import sys
from pathlib import Path
from labkit.records import RunFolder
with RunFolder(Path(sys.argv[1])).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_that_is_held_is_running_until_its_holder_is_killed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    command = [sys.executable, "-c", HOLDER, str(run.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        run.settle()
        assert run.manifest()["status"] == "running"
        with pytest.raises(RecordsError, match="another process measuring"), run.hold():
            pass
        holder.kill()
    run.settle()
    assert run.manifest()["status"] == "interrupted"


@pytest.mark.parametrize(
    ("status", "settled"), [("created", "interrupted"), ("completed", "completed")]
)
def test_a_notebook_that_nobody_makes_failed(tmp_path: Path, status: str, settled: str) -> None:
    run = make_run(tmp_path / "run", status)
    run.update_manifest(notebook={"name": "sweep.ipynb", "status": "running"})
    with run.hold_notebook():
        run.settle()
        assert run.manifest()["notebook"]["status"] == "running"
    run.settle()
    assert run.manifest()["notebook"]["status"] == "failed"
    assert run.manifest()["status"] == settled


def test_what_is_set_aside_never_replaces_another(tmp_path: Path) -> None:
    (tmp_path / "000-a-0.5-r0").mkdir()
    (tmp_path / "000-a-0.5-r0.attempt2").mkdir()
    set_aside(tmp_path / "000-a-0.5-r0")
    set_aside(tmp_path / "000-a-0.5-r0")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "000-a-0.5-r0.attempt2",
        "000-a-0.5-r0.attempt3",
    ]


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"no manifest\.json"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({}, "expected schema 1"),
        ({"schema": 1}, "expected status"),
        ({"schema": 1, "status": "ok", "plan": 3}, "expected plan to be a list"),
        ({"schema": 1, "status": "ok", "plan": [3]}, "expected "),
        ({"schema": 1, "status": "ok", "plan": []}, "expected name"),
    ],
)
def test_a_damaged_manifest_is_named(
    tmp_path: Path, manifest: dict[str, object], told: str
) -> None:
    replace_json(tmp_path / "manifest.json", manifest)
    with pytest.raises(RecordsError, match=r"manifest\.json") as caught:
        RunFolder.open(tmp_path)
    assert told in str(caught.value)


@pytest.mark.parametrize("document", ["{}", '{"status": 3}', '{"status": "ok", "load": []}', "["])
def test_a_damaged_point_is_named(tmp_path: Path, document: str) -> None:
    run = make_run(tmp_path / "run", "completed")
    run.point_folder("000-a").mkdir(parents=True)
    (run.point_folder("000-a") / "point.json").write_text(document)
    with pytest.raises(RecordsError, match=r"000-a/point\.json"):
        run.points()[0]


@pytest.mark.parametrize(
    "row",
    [
        {"sent_at_s": "soon"},
        {"status": None},
        {"chunk_at_s": 3},
        {"chunk_at_s": [1, "2"]},
        {"chunk_at_s": [10**400]},
        {"prompt_tokens": [3]},
        {"completion_tokens": True},
    ],
)
def test_a_damaged_row_is_named_with_its_line(tmp_path: Path, row: dict[str, object]) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"sent_at_s": 1}\ntorn\n' + json.dumps(row))
    with pytest.raises(RecordsError, match=r"requests\.jsonl line 3"):
        read_requests(path)


def test_a_damaged_sample_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"source": "host", "at_s": {}}')
    with pytest.raises(RecordsError, match=r"at_s to be a number or null in .* line 1"):
        read_jsonl(path)


def test_runs_are_listed_oldest_first(tmp_path: Path) -> None:
    make_run(tmp_path / "20260102T000000Z-b-00000000")
    make_run(tmp_path / "20260101T000000Z-a-00000000")
    (tmp_path / "notes").mkdir()
    assert [run.path.name[17:18] for run in list_runs(tmp_path)] == ["a", "b"]
