"""The end of a report, from findings made by hand."""

from labkit.analysis.finding import Finding
from labkit.report.conclusion import make_conclusion

ROW = {"validity": "VALID", "repeat": 0}


def test_what_held_and_how_sure_it_is() -> None:
    findings = [
        Finding("Twice <b>", "…", "result", verdict="not held"),
        Finding("Less TTFT", "…", "result", verdict="held"),
        Finding("Small differences", "…", "unknown"),
    ]
    page = make_conclusion("It gains <1>", findings, {"points": [ROW, ROW]})
    assert "<strong>It gains &lt;1&gt;</strong>" in page
    assert "<strong>not held</strong>: Twice &lt;b&gt;" in page
    assert "<strong>held</strong>: Less TTFT" in page
    assert "It rests on 2 points, all VALID; one repeat of each point" in page
    assert "Left open: Small differences." in page


def test_repeats_are_counted() -> None:
    rows = [{"validity": "VALID", "repeat": repeat} for repeat in (0, 1, 2)]
    page = make_conclusion("It gains", [], {"points": rows})
    assert "3 repeats of a point" in page
    assert "<ul>" not in page
    assert "Left open" not in page


def test_many_open_things_are_a_folded_list() -> None:
    unknown = [Finding(f"Thing <{number}>", "…", "unknown") for number in range(3)]
    page = make_conclusion("It gains", unknown, {"points": [ROW]})
    assert "<summary>3 things are left open</summary><ul><li>Thing &lt;0&gt;</li>" in page
    assert "Left open:" not in page
