"""`labkit.load`: a run to explore, quick to import, lazy to read, and nothing is written."""

import subprocess
import sys
from pathlib import Path

import pytest
from kept import keep_run

import labkit
from labkit.errors import RecordsError
from labkit.explore import PLOTS, TABLES, RunView
from labkit.records import RunFolder, replace_json


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    return keep_run(tmp_path / "reports")


def list_files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_importing_labkit_loads_nothing_of_it() -> None:
    code = (
        "import sys, labkit; print([m for m in sys.modules if m.startswith(('labkit.', 'pandas'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.parametrize("how", ["latest", "id", "folder", "string", "file", "below notebooks"])
def test_a_run_is_found(run: RunFolder, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    asked: str | Path = {
        "latest": "latest",
        "id": run.path.name,
        "folder": run.path,
        "string": f"reports/{run.path.name}",
        "file": run.params_path,
        "below notebooks": f"reports/{run.path.name}",
    }[how]
    if how == "below notebooks":
        (run.path.parent.parent / "notebooks").mkdir()
        monkeypatch.chdir(run.path.parent.parent / "notebooks")
    assert labkit.load(asked).run_id == run.path.name


def test_the_latest_run_is_the_youngest(run: RunFolder) -> None:
    elsewhere = run.path.parent.parent / "elsewhere"
    for stamp in ("20250101T000000Z", "20250102T000000Z"):
        made = keep_run(elsewhere)
        made.path.rename(elsewhere / f"{stamp}-small-00000000")
    assert labkit.load(reports=elsewhere).run_id == "20250102T000000Z-small-00000000"


@pytest.mark.parametrize("asked", ["latest", "nope", "", "a\0b", "x" * 5000, "params"])
def test_no_run_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordsError, match=r"^expected a run folder") as error_info:
        labkit.load(asked)
    assert "\n" not in str(error_info.value)


def test_a_slip_names_the_nearest(run: RunFolder) -> None:
    with pytest.raises(RecordsError, match=f"did you mean {run.path.name}"):
        labkit.load(run.path.name[:-1])


def test_the_tables(run: RunFolder) -> None:
    view = labkit.load(run.path)
    assert list(view.points.value) == [1, 2]
    assert list(view.points.num_ok) == [2, 1]
    assert list(view.points.ttft_s_p50) == pytest.approx([0.5, 0.5])
    assert list(view.requests.since_load_s) == pytest.approx([0.5, 1.5, 0.5, 2.5])
    ok = view.requests[view.requests.status == "ok"]
    assert list(ok.tpot_s) == pytest.approx([0.1] * 3)
    assert view.samples[view.samples.source == "engine"].kv_cache_usage.tolist() == [0.25, 0.25]
    assert view.requests is view.requests


def test_the_findings_are_those_of_the_file(run: RunFolder) -> None:
    assert len(labkit.load(run.path).findings) > 0
    told = {"title": "A title", "text": "t", "kind": "fact", "variable": None, "verdict": "held"}
    document = {"schema": 1, "headline": "From the file", "findings": [told]}
    replace_json(run.path / "findings.json", document)
    view = labkit.load(run.path)
    assert list(view.findings.verdict) == ["held"]
    assert view.headline == "From the file"


def test_every_figure_is_drawn_and_every_attribute_is_named(run: RunFolder) -> None:
    view = labkit.load(run.path)
    for name in PLOTS:
        method = getattr(view, f"plot_{name}")
        assert method.__doc__
        assert method().layout.title.text
    assert view.plot_latency("max_concurrency") == view.plot_latency("load.max_concurrency")
    second = view.plot_timeline(view.point_ids[1])
    assert "max_concurrency 2" in second.layout.title.text
    named = {name for name in dir(RunView) if name.startswith("plot_")}
    assert named == {f"plot_{name}" for name in PLOTS}
    assert set(TABLES) <= set(dir(view))


def test_arms_are_drawn_apart(tmp_path: Path) -> None:
    moved = {"variable": "load.max_concurrency", "values": [1, 2]}
    sweep = [
        {**moved, "series": "as given"},
        {**moved, "series": "short", "set": {"workload.completion_tokens": 2}},
    ]
    view = labkit.load(keep_run(tmp_path, sweep=sweep).path)
    assert view.variables == ["load.max_concurrency"]
    assert view.arms == [("load.max_concurrency", "as given"), ("load.max_concurrency", "short")]
    assert list(view.points.series) == ["as given"] * 2 + ["short"] * 2
    assert set(view.requests.series) == {"as given", "short"}
    ids = [view.plot_throughput(series=one).data[0].x for one in ("as given", "short")]
    assert [list(one) for one in ids] == [["1", "2"]] * 2
    assert "load.max_concurrency (short)" in repr(view)
    with pytest.raises(RecordsError, match="of series shrt; did you mean"):
        view.plot_latency("load.max_concurrency", series="shrt")


def test_what_is_not_there_names_what_is(run: RunFolder) -> None:
    view = labkit.load(run.path)
    with pytest.raises(RecordsError, match=r"max_num_seqs.*known are load\.max_concurrency"):
        view.plot_latency("max_num_seqs")
    with pytest.raises(RecordsError, match="did you mean 001-max_concurrency-2-r0"):
        view.plot_timeline("001-max_concurrency-2")


def test_a_run_that_moved_nothing_says_so(run: RunFolder) -> None:
    run.update_manifest(plan=[])
    view = labkit.load(run.path)
    assert repr(view).endswith("moved:   nothing")
    with pytest.raises(RecordsError, match="found it moved none"):
        view.plot_latency()
    with pytest.raises(RecordsError, match="none was begun"):
        view.plot_timeline()


def test_it_tells_what_it_holds(run: RunFolder) -> None:
    view = labkit.load(run.path)
    assert run.path.name in repr(view)
    assert "plot_timeline" in repr(view)
    replace_json(run.path / "findings.json", {"headline": "<b>bold</b>", "findings": []})
    html = labkit.load(run.path)._repr_html_()
    assert "&lt;b&gt;bold" in html
    assert "001-max_concurrency-2-r0" in html


def test_nothing_is_written(run: RunFolder) -> None:
    before = list_files(run.path)
    view = labkit.load(run.path)
    repr(view)
    for name in TABLES:
        getattr(view, name)
    view.plot_timeline()
    assert list_files(run.path) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [("manifest.json", "{"), ("summary.json", '{"points": 3}'), ("findings.json", "[]")],
)
def test_a_damaged_run_is_one_line(run: RunFolder, name: str, text: str) -> None:
    (run.path / name).write_text(text)
    with pytest.raises(RecordsError, match=name):
        repr(labkit.load(run.path))
