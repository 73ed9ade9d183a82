"""The cards of the diagnosis: order, escaping, silence."""

from typing import Any

from labkit.report.diagnosis import diagnosis_block


def told(**changes: Any) -> dict[str, Any]:
    return {
        "rule": "kv_pool_full",
        "title": "The KV pool is full",
        "cause": "The pool ran out.",
        "confidence": "high",
        "points": ["000-a"],
        "evidence": [{"text": "3 preemptions", "field": "num_preemptions", "value": 3}],
        "next_step": "Lower max_num_seqs.",
        "figure": "pressure",
        **changes,
    }


def test_no_diagnosis_gives_nothing() -> None:
    assert diagnosis_block({"points": []}) == ""
    assert diagnosis_block({"points": [], "diagnoses": []}) == ""


def test_a_card_tells_cause_evidence_next_step_confidence_and_figure() -> None:
    html = diagnosis_block({"diagnoses": [told()]})
    assert "<strong>The KV pool is full</strong><p>The pool ran out.</p>" in html
    assert "<ul><li>3 preemptions</li></ul>" in html
    assert "Lower max_num_seqs." in html
    assert "Confidence: high. At point 000-a. Look at running, waiting and KV usage" in html
    assert "Cure it, then measure again." in html


def test_cards_keep_their_order_and_count_from_one() -> None:
    html = diagnosis_block({"diagnoses": [told(title="First"), told(title="Second")]})
    assert html.index(">1</span>") < html.index("First") < html.index(">2</span>")
    assert html.index("First") < html.index("Second")


def test_what_comes_from_a_run_is_escaped() -> None:
    evil = "<script>alert(1)</script>"
    evidence = [{"text": evil, "field": "num_error", "value": 1}]
    one = told(title=evil, cause=evil, next_step=evil, points=[evil], evidence=evidence)
    html = diagnosis_block({"diagnoses": [one]})
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5


def test_many_points_are_counted() -> None:
    html = diagnosis_block({"diagnoses": [told(points=[f"p{n}" for n in range(6)])]})
    assert "At points p0, p1, p2, p3 and 2 more." in html
