"""Who leads, from rows made by hand."""

from analysis.facts import latency, row

from labkit.analysis.findings import conclude


def arm(series, rates, ttft_s, **changes):
    return [
        row(
            value,
            rate,
            variable="load.max_concurrency",
            series=series,
            point_id=f"{series}-{value}",
            asked={},
            workload={"kind": "synthetic"},
            ttft_s=latency(ttft_s),
            prompt_tokens={"mean": 64.0},
            completion_tokens={"mean": 24.0},
            **changes,
        )
        for value, rate in rates.items()
    ]


def ask(*rows):
    return conclude(
        {"run": {"notebook": "engines"}, "points": [one for own in rows for one in own]}
    )


def test_who_leads_at_every_load():
    output, ttft, tpot, asked = ask(
        arm("vLLM", {1: 100.0, 16: 800.0, 64: 900.0}, 0.2),
        arm("SGLang", {1: 120.0, 16: 1000.0}, 0.1),
    )
    assert output.title == "SGLang has the most output at every load"
    assert output.text.startswith(
        "max_concurrency 1: SGLang 120 tokens/s, vLLM 100 tokens/s; max_concurrency 16: "
    )
    assert output.effect.value == 1.25
    assert "vLLM-64" not in output.points
    assert ttft.title == "SGLang has the shortest P95 TTFT at every load"
    assert (tpot.kind, tpot.title) == ("unknown", "Can't tell who has the shortest P95 TPOT")
    assert "vLLM 64 prompt and 24 completion tokens" in asked.text


def test_a_lead_that_depends_on_the_load():
    output, *_ = ask(
        arm("vLLM", {1: 200.0, 16: 800.0}, 0.2), arm("SGLang", {1: 100.0, 16: 1000.0}, 0.2)
    )
    assert output.title == "SGLang has the most output at max_concurrency 16"
    output, *_ = ask(
        arm("vLLM", {1: 200.0, 16: 800.0}, 0.2), arm("SGLang", {1: 100.0, 16: 810.0}, 0.2)
    )
    assert output.title == "Who has the most output depends on the load"
    assert "(SGLang and vLLM can't be told apart)" in output.text


def test_what_can_be_told_comes_first():
    first, *_ = ask(arm("vLLM", {1: 100.0}, 0.2), arm("SGLang", {1: 101.0}, 0.1))
    assert first.title == "SGLang has the shortest P95 TTFT at every load"


def test_an_engine_that_failed_is_left_out_by_name():
    left, nothing = ask(
        arm("vLLM", {1: 100.0}, 0.2), arm("SGLang", {1: 1.0}, 0.2, validity="INVALID")
    )[:2]
    assert left.title == "SGLang is left out"
    assert nothing.title == "Nothing to compare"
