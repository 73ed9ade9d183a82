"""The noise of a machine on disk: beside the runs, added to, found by comparisons."""

from pathlib import Path

import pytest
from made_runs import make_run

from labkit.analysis.comparison.whole import compare_runs
from labkit.compare.noise import open_noise, store_noise
from labkit.compare.runs import read_run
from labkit.compare.table import tell_noise
from labkit.errors import RecordsError
from labkit.records import read_json

OUTPUT = "output_throughput_tokens_per_s"


def test_it_is_stored_added_to_and_used_where_repeats_are_few(tmp_path: Path) -> None:
    told = read_run(make_run(tmp_path, repeats=1))
    slow = read_run(make_run(tmp_path, repeats=1, slower=1.3))
    found = compare_runs(told, slow, open_noise(told, tmp_path))
    assert {line.verdict for line in found.lines} == {"can't tell"}
    equal = read_run(make_run(tmp_path, repeats=9, seed=3, name="made-aa"))
    path, document = store_noise(equal, tmp_path)
    assert path.parent == tmp_path / "noise"
    assert len(document["entries"]) == 1
    _, again = store_noise(equal, tmp_path)
    assert again == document
    _, more = store_noise(read_run(make_run(tmp_path, repeats=9, seed=4)), tmp_path)
    assert len(more["entries"]) == 2
    assert more["entries"][0] == document["entries"][0]
    assert read_json(path) == more
    assert tell_noise(more)[-1] == "added to the noise of 1 earlier run"
    found = compare_runs(told, slow, open_noise(told, tmp_path))
    (first,) = [
        line
        for line in found.lines
        if line.metric.field == OUTPUT and line.place.value_a == found.places[0].value_a
    ]
    assert first.verdict == "worse"
    assert first.found.method == "t, with the stored noise"


def test_one_repeat_is_no_noise(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, repeats=1))
    with pytest.raises(RecordsError, match="found 1; see what its report says"):
        store_noise(run, tmp_path)
    assert not (tmp_path / "noise").exists()
