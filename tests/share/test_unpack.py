"""`labkit import`: a run comes back as it went; what could do harm or is damaged leaves nothing."""

import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import Entry, change, read_entries, write_entries
from kept import keep_run

from labkit.cli import main
from labkit.records import RunFolder, replace_text
from labkit.share import pack_run
from labkit.share.names import CRATE, SUMS, is_plain

Make = Callable[[list[Entry]], list[Entry]]
TOP = "points/000-max_concurrency-1-r0"


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = keep_run(tmp_path / "theirs")
    run.update_manifest(status="completed", notebook={"name": "sweep.ipynb", "status": "completed"})
    replace_text(run.report_path, "<script>alert(1)</script>")
    replace_text(run.path / "sweep.ipynb", "{}")
    return run


@pytest.fixture
def archive(run: RunFolder, tmp_path: Path) -> Path:
    return pack_run(run, tmp_path / "a.zip").path


def add(name: str, data: bytes = b"x", mode: int = 0) -> Make:
    def make(entries: list[Entry]) -> list[Entry]:
        info = zipfile.ZipInfo("placeholder")
        info.filename = info.orig_filename = name
        info.external_attr = mode << 16
        return [*entries, (info, data)]

    return make


def edit_json(name: str, edit: Callable[[dict], object]) -> Make:
    def make(data: bytes) -> bytes:
        document = json.loads(data)
        edit(document)
        return json.dumps(document).encode()

    return change(name, make)


def name_run(told: object) -> Make:
    def edit(document: dict) -> None:
        (root,) = [one for one in document["@graph"] if one["@id"] == "./"]
        root["identifier"] = told

    return edit_json(CRATE, edit)


def lead(told: str) -> Make:
    return edit_json("manifest.json", lambda one: one["plan"][0].update(point_id=told))


def drop(name: str) -> Make:
    return lambda entries: [entry for entry in entries if entry[0].filename != name]


def test_a_run_comes_back_and_is_listed(
    run: RunFolder, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = tmp_path / "mine"
    assert main(["import", str(archive), "--reports", str(reports)]) == 0
    assert "labkit report" in capsys.readouterr().out
    back = RunFolder.open(reports / run.path.name)
    assert [list(map(str, point.requests)) for point in back.points()] == [
        list(map(str, point.requests)) for point in run.points()
    ]
    for name in ("params.yaml", f"{TOP}/requests.jsonl", f"{TOP}/samples.jsonl"):
        assert (back.path / name).read_bytes() == (run.path / name).read_bytes()
    assert not back.report_path.exists()  # a stranger's page
    assert not list(back.path.glob("*.ipynb"))
    assert back.manifest()["notebook"] is None
    assert set(back.manifest()["imported"]) == {"archive_sha256", "imported_at"}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in back.path.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(back.path.stat().st_mode) == 0o700
    assert main(["list", "--reports", str(reports)]) == 0
    assert run.path.name in capsys.readouterr().out
    assert main(["import", str(archive), "--reports", str(reports)]) == 2
    assert "it is already here" in capsys.readouterr().err


def test_what_came_in_can_go_out_again(run: RunFolder, archive: Path, tmp_path: Path) -> None:
    assert main(["import", str(archive), "--reports", str(tmp_path / "mine")]) == 0
    again = RunFolder.open(tmp_path / "mine" / run.path.name)
    pack_run(again, tmp_path / "b.zip")
    assert main(["import", str(tmp_path / "b.zip"), "--reports", str(tmp_path / "third")]) == 0


def test_a_place_that_can_not_be_written_is_not_blamed_on_the_archive(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file", encoding="utf-8")
    assert main(["import", str(archive), "--reports", str(taken)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.count(str(taken)) == 1
    assert str(archive) not in line


HARMFUL = {
    "above": (add("../evil.json"), "names below one folder"),
    "deep above": (add("points/../../evil.json"), "names below one folder"),
    "absolute": (add("/tmp/evil.json"), "names below one folder"),
    "backslashes": (add("..\\evil.json"), "names below one folder"),
    "a drive": (add("C:evil.json"), "names below one folder"),
    "hidden": (add(".bashrc"), "names below one folder"),
    "a folder": (add("points/"), "names below one folder"),
    "a line break": (add("a\nb.txt"), "names below one folder"),
    "too deep": (add("a/" * 20 + "b"), "names below one folder"),
    "a link": (add("points/x", b"/etc", stat.S_IFLNK | 0o777), "plain files"),
    "a device": (add("points/x", b"", stat.S_IFCHR | 0o666), "plain files"),
    "a pipe": (add("points/x", b"", stat.S_IFIFO | 0o666), "plain files"),
    "twice": (add("params.yaml"), "each name once"),
    "twice, in capitals": (add("PARAMS.yaml"), "each name once"),
    "below a file": (add("params.yaml/x"), "a file or a folder"),
    "a bomb": (add("zeros.log", bytes(80 * 2**20)), "at most 200 times"),
    "an id above": (name_run("../../evil"), "a run's id"),
    "an id of another kind": (name_run(["x"]), "a run's id"),
    "no crate": (drop(CRATE), "expected ro-crate-metadata.json"),
    "a point above": (lead("../../../evil"), "points with plain names"),
    "it runs": (edit_json("manifest.json", lambda one: one.update(status="running")), "has ended"),
    "no manifest": (drop("manifest.json"), "manifest.json"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("what", HARMFUL)
def test_harm_is_refused_in_a_line(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    make, told = HARMFUL[what]
    path = write_entries(tmp_path / "b.zip", make(read_entries(archive)))
    refuse(path, tmp_path, capsys, told)


DAMAGED = {
    "a changed record": (change("params.yaml", lambda data: data + b"#\n"), "with the sum"),
    "a changed page": (change("report.html", lambda data: data + b"#\n"), "with the sum"),
    "a file less": (drop("params.yaml"), "'params.yaml' missing"),
    "a file more": (add("more.json"), "only files that SHA256SUMS tells"),
    "no sums": (drop(SUMS), "expected SHA256SUMS"),
    "sums of another kind": (change(SUMS, lambda _: b"hello\n"), "a sum and a name a line"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damage_is_refused_in_a_line(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    make, told = DAMAGED[what]
    path = write_entries(tmp_path / "b.zip", make(read_entries(archive)), sums=False)
    refuse(path, tmp_path, capsys, told)


def test_broken_bytes_are_refused_in_a_line(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = archive.read_bytes()
    path = tmp_path / "b.zip"
    for place in (0, 40, 200, len(whole) // 2, len(whole) - 40, len(whole) - 10):
        broken = bytearray(whole)
        broken[place : place + 8] = bytes(255 - one for one in broken[place : place + 8])
        path.write_bytes(broken)
        refuse(path, tmp_path, capsys, "expected")
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refuse(path, tmp_path, capsys, "ask for it again")
    path.unlink()
    refuse(path, tmp_path, capsys, "no such file")


def test_a_size_that_lies_is_refused(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list at the end says 10 bytes where 80 MiB follow: zipfile gives no more than it says."""
    entries = add("zeros.log", bytes(80 * 2**20))(read_entries(archive))
    path = write_entries(tmp_path / "b.zip", entries)
    data = bytearray(path.read_bytes())
    size = struct.pack("<L", 80 * 2**20)
    data[data.rindex(size) : data.rindex(size) + 4] = struct.pack("<L", 10)
    path.write_bytes(data)
    refuse(path, tmp_path, capsys, "expected")


@pytest.mark.parametrize("name", ["a.json", "points/0-x=1-r0/requests.jsonl", "ä b.txt", "a..b"])
def test_a_name_of_a_run_is_plain(name: str) -> None:
    assert is_plain(name)


def refuse(path: Path, place: Path, capsys: pytest.CaptureFixture[str], told: str) -> None:
    reports = place / "mine"
    before = sorted(place.rglob("*"))
    assert main(["import", str(path), "--reports", str(reports)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told.lower() in line.lower()
    assert [one for one in sorted(place.rglob("*")) if one not in (*before, reports)] == []
