"""A run in a list: from its documents alone, cheap, and a damaged one says so."""

import json
from pathlib import Path
from typing import Any

import pytest
from kept import keep_run

from labkit.listing import Curve, describe_run, find_curves, list_entries
from labkit.records import RunFolder, replace_json
from labkit.workbook import write_summary


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = keep_run(tmp_path, model="/models/some.gguf")
    write_summary(run)
    for path in run.path.rglob("*.jsonl"):
        path.write_text('{"sent_at_s": "is not read"}')
    return run


def row(value: Any, rate: float | None, **changes: Any) -> dict[str, Any]:
    told = {"variable": "engine.x", "value": value, "validity": "VALID"}
    return {**told, "output_throughput_tokens_per_s": rate, **changes}


def test_a_run_tells_what_it_is(run: RunFolder) -> None:
    summary = json.loads(run.summary_path.read_text())
    for one, verdict in zip(summary["points"], ("VALID", "INVALID"), strict=True):
        one["validity"] = verdict
    replace_json(run.summary_path, summary)
    replace_json(run.findings_path, {"headline": "It holds", "findings": []})
    run.report_path.touch()
    entry = describe_run(run)
    assert entry.damage is None
    assert (entry.run_id, entry.name, entry.status) == (run.path.name, "small", "completed")
    assert (entry.engine, entry.model, entry.notebook) == ("endpoint", "some.gguf", "sweep")
    assert entry.variables == ("load.max_concurrency",)
    assert (entry.num_measured, entry.num_points) == (2, 2)
    assert entry.verdicts == {"VALID": 1, "INVALID": 1}
    assert entry.headline == "It holds"
    assert entry.files == ("report.html",)
    # 6 tokens from 100.0 s to the end of the second request, 101.75 s
    ((value, rate),) = entry.curves[0].points
    assert (value, rate) == (1, pytest.approx(6 / 1.75))


def test_without_findings_the_headline_follows_from_the_summary(run: RunFolder) -> None:
    told = describe_run(run).headline
    run.findings_path.unlink()
    assert describe_run(run).headline == told


def test_a_run_that_was_only_begun_tells_what_was_asked(tmp_path: Path) -> None:
    run = keep_run(tmp_path)
    entry = describe_run(run)
    assert (entry.engine, entry.model, entry.headline) == ("endpoint", "m", None)
    assert (entry.curves, entry.verdicts) == ((), {})


def test_arms_on_several_engines_name_them_all(run: RunFolder) -> None:
    summary = json.loads(run.summary_path.read_text())
    for one, kind in zip(summary["points"], ("vllm", "sglang"), strict=True):
        one["asked"] = {"kind": kind, "model": "org/m"}
    replace_json(run.summary_path, summary)
    entry = describe_run(run)
    assert (entry.engine, entry.model) == ("vllm, sglang", "m")


def test_a_curve_is_the_mean_of_usable_repeats_in_order() -> None:
    rows = [
        row(8, 30.0),
        row(1, 10.0),
        row(1, 20.0, validity="SUSPECT"),
        row(1, 900.0, validity="INVALID"),
        row(2, None),
        row(4, float("nan")),
        row(True, 5.0, series="static"),
    ]
    assert find_curves(rows) == [
        Curve("engine.x", None, ((1, 15.0), (8, 30.0))),
        Curve("engine.x", "static", ((True, 5.0),)),
    ]
    assert find_curves([]) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest.json", None),
        ("manifest.json", '{"schema": 1}'),
        ("manifest.json", '{"status": "completed", "plan": [], "notebook": 3}'),
        ("points/001-max_concurrency-2-r0/point.json", "{"),
        ("summary.json", '{"points": 3}'),
        ("summary.json", '{"points": [{"asked": 3}]}'),
        ("findings.json", "[]"),
    ],
)
def test_a_damaged_run_says_what_is_wrong(run: RunFolder, name: str, text: str | None) -> None:
    path = run.path / name
    path.unlink()
    if text is not None:
        path.write_text(text)
    entry = describe_run(run)
    assert entry.damage is not None
    assert entry.damage.startswith("expected ")
    assert str(run.path) not in entry.damage
    assert "\n" not in entry.damage
    assert "damaged" in entry.text


@pytest.mark.parametrize("text", [None, "a: [1"])
def test_a_run_that_measured_nothing_needs_its_params(tmp_path: Path, text: str | None) -> None:
    run = keep_run(tmp_path)
    run.params_path.unlink()
    if text is not None:
        run.params_path.write_text(text)
    assert "params.yaml" in (describe_run(run).damage or "")


def test_every_word_of_the_filter_must_be_told(tmp_path: Path) -> None:
    first, second = keep_run(tmp_path, "one"), keep_run(tmp_path, "other", model="m2")
    (tmp_path / "20260101T000000Z-broken-0").mkdir()
    (tmp_path / "notes").mkdir()

    def find(wanted: str) -> list[str]:
        return [entry.run_id for entry in list_entries(tmp_path, wanted)]

    ids = sorted((first.path.name, second.path.name))
    assert find("") == ["20260101T000000Z-broken-0", *ids]
    assert find("ENDPOINT max_conc") == ids
    assert find("endpoint m2") == [second.path.name]
    assert find("damaged") == ["20260101T000000Z-broken-0"]
    assert find("nothing like it") == []
