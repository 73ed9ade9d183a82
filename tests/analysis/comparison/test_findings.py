"""What a comparison says on its first screen."""

from typing import Any

from comparison_rows import make_row, make_summary

from labkit.analysis.comparison.findings import conclude_comparison, tell_headline
from labkit.analysis.comparison.told import Told
from labkit.analysis.comparison.whole import Compared, compare_runs

OUTPUT = "output_throughput_tokens_per_s"
NEAR = [100.0, 100.5, 99.5, 100.2]


def compare(a: list[dict[str, Any]], b: list[dict[str, Any]], **params: Any) -> Compared:
    told = [
        Told(name, own, {}, make_summary(*rows), {})
        for name, own, rows in (("one", {}, a), ("other", params, b))
    ]
    return compare_runs(told[0], told[1])


def rows(value: Any, numbers: list[float], field: str = OUTPUT) -> list[dict[str, Any]]:
    return [make_row(value, i, **{field: number}) for i, number in enumerate(numbers)]


def test_one_metric_is_one_finding_over_all_settings() -> None:
    worse, much_worse = ([f * one for one in NEAR] for f in (0.9, 0.5))
    found = compare(
        rows(2, NEAR) + rows(4, NEAR) + rows(8, NEAR),
        rows(2, worse) + rows(4, much_worse) + rows(8, NEAR),
        engine={"a": 1},
    )
    first, *others = conclude_comparison(found)
    assert first.title == "Output throughput is worse at max_num_seqs 2 and 4"
    assert "max_num_seqs 4: 100 tokens/s in A, 50 tokens/s in B, -50 % (" in first.text
    assert first.kind == "cost"
    assert first.effect is not None
    assert (first.effect.field, first.effect.n) == (OUTPUT, 4)
    assert round(first.effect.value, 9) == 0.5
    assert len(first.points) == 16
    assert first.points[0] == "A:2-r0"
    assert [one.title for one in others] == ["No difference seen"]
    assert tell_headline(found) == (
        "Output throughput is worse in B by 50 % at max_num_seqs 4; 1 other number moved as well"
    )


def test_few_repeats_tell_nothing() -> None:
    found = compare(rows(4, [100.0]), rows(4, [200.0]))
    (only,) = conclude_comparison(found)
    assert (only.kind, only.title) == ("unknown", "Can't tell for 1 of 1 number")
    assert "`labkit run PARAMS --aa`" in only.text
    assert tell_headline(found) == "Can't tell the two runs apart with so few repeats"


def test_equal_runs() -> None:
    found = compare(rows(4, NEAR), rows(4, list(reversed(NEAR))))
    assert tell_headline(found) == "No difference seen between the two runs"


def test_equal_runs_that_differ_are_a_warning() -> None:
    found = compare(rows(4, NEAR), rows(4, [0.5 * one for one in NEAR]))
    assert conclude_comparison(found)[-1].title == "Equal runs that differ"
    found = compare(rows(4, NEAR), rows(4, [0.5 * one for one in NEAR]), engine={"a": 1})
    assert all(one.kind != "warning" for one in conclude_comparison(found))


def test_what_a_reader_must_bear_in_mind_is_a_warning() -> None:
    bad = make_row(4, 4, validity="INVALID", **{OUTPUT: 1.0})
    doubted = [row | {"validity": "SUSPECT"} for row in rows(4, NEAR)]
    found = compare([*doubted, bad], rows(4, NEAR) + rows(8, NEAR), engine={"a": 1}, load={"b": 2})
    warned = {one.title: one.text for one in conclude_comparison(found) if one.kind == "warning"}
    assert warned["More than one thing differs"].startswith("engine.a and load.b differ")
    assert warned["1 repeat left out"] == "4-r4 of A (INVALID)."
    assert "max_num_seqs 4" in warned["Some repeats are in doubt"]
    assert warned["Settings that only one run has"] == "Not compared: max_num_seqs 8 is in B alone."
