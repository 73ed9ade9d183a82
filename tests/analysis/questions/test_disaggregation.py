"""The plan in words: a model's every time, and none where it does not describe the engine."""

from dataclasses import asdict
from typing import Any

import pytest
from analysis.disaggregation.runs import make_run

from labkit.analysis.finding import Finding
from labkit.analysis.findings import conclude, headline
from labkit.analysis.questions.disaggregation import conclude as answer

TOLD = "Planning model, not a measurement"


@pytest.fixture(scope="module")
def found() -> list[Finding]:
    return answer(make_run())


def test_a_plan_that_was_checked_is_told(found: list[Finding]) -> None:
    first = found[0]
    assert first.verdict == "held"
    assert first.kind == "result"
    assert "would serve" in first.title
    assert "times as much within both SLOs" in first.title
    assert first.effect is not None
    assert first.effect.low is not None
    assert 1 < first.effect.low < first.effect.value
    assert f"{first.effect.value:.3g}" in first.text
    assert "P90 TTFT within 1 s and P90 TPOT within 30 ms" in first.text
    assert len(first.points) == 11
    assert first.text.endswith("[VALID]")
    assert {one.field for one in first.evidence} == {"request_rate_per_s"}


def test_every_finding_says_what_it_is(found: list[Finding]) -> None:
    for one in found[:-1]:
        assert one.text.startswith(TOLD)
        assert one.title.startswith("Planning model")
    assert found[-1].title.startswith("Measured")
    assert "prefills took 20 % of the time" in found[-1].text
    assert "(SLO kept); at 2 requests/s" in found[-1].text
    assert found[-1].text.endswith("(SLO missed). [VALID]")


def test_the_findings_are_data(found: list[Finding]) -> None:
    assert [Finding.read(asdict(one)) for one in found] == found


def test_the_notebooks_question_leads() -> None:
    told = make_run()
    assert conclude(told)[0] == answer(told)[0]
    assert headline(told) == answer(told)[0].title


def test_an_engine_that_the_model_does_not_describe_gets_no_ratio() -> None:
    first, check, *rest = answer(make_run(slower=3.0))
    assert first.verdict == "can't tell"
    assert first.kind == "unknown"
    assert "no ratio is recommended: it does not describe this engine" in first.text
    assert first.effect is None
    assert check.kind == "warning"
    assert "off" in check.text
    assert not any("limits" in one.title for one in rest)


def test_a_slow_link_is_told_as_the_limit() -> None:
    told = {one.title: one for one in answer(make_run(transfer_bytes_per_s=4e6))}
    (transfer,) = [one for title, one in told.items() if "KV transfer takes" in title]
    assert transfer.title.endswith("622 ms a prompt")  # 108 tokens of 23,040 bytes at 4 MB/s
    assert transfer.kind == "cost"


def test_bytes_that_are_not_known_are_told() -> None:
    run = make_run()
    for row in run["points"]:
        row["kv_cache_bytes_per_token"] = None
    (warned,) = [one for one in answer(run) if "can't be told" in one.title]
    assert "separate pools look better than they are" in warned.text


def test_points_in_doubt_are_named() -> None:
    run = make_run()
    run["points"][0]["validity"] = "SUSPECT"
    first, *others = answer(run)
    assert first.text.endswith("[SUSPECT at prompt_tokens 32 of prefill]")
    assert all(one.text.endswith("[SUSPECT]") for one in others)


def test_an_slo_out_of_reach_is_not_held() -> None:
    run = make_run()
    run["run"]["slo"] = {"ttft_s": 0.05, "tpot_s": 0.03}
    first = answer(run)[0]
    assert (first.verdict, first.title) == (
        "not held", "Planning model: no split into pools keeps both SLOs",
    )  # fmt: skip


def test_without_the_arms_nothing_is_told() -> None:
    run: dict[str, Any] = make_run()
    run["points"] = run["points"][:3]
    (only,) = answer(run)
    assert only.verdict == "can't tell"
    assert "no valid point of the series decode and together" in only.text


def test_what_was_measured_together_is_told_without_a_plan() -> None:
    run: dict[str, Any] = make_run()
    run["points"][0]["validity"] = "SUSPECT"
    run["points"] = [row for row in run["points"] if row["series"] != "decode"]
    refused, together = answer(run)
    assert "measure them again when nothing else runs" in refused.text
    assert together.title.startswith("Measured")
