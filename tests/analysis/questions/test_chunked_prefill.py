"""What chunks do to stalls, from rows made by hand."""

from analysis.facts import latency, row

from labkit.analysis.findings import conclude


def point(budget, stall_s, *, longest=384, rate=100.0, ttft_s=0.5, **changes):
    return row(
        budget,
        rate,
        variable="engine.max_num_batched_tokens",
        point_id=f"b{budget}",
        asked={},
        effective={"max_num_batched_tokens": budget},
        prompt_tokens={"max": longest},
        prefill_stall_s=None if stall_s is None else {"max": stall_s},
        ttft_s={**latency(ttft_s), "p50": ttft_s / 2},
        **changes,
    )


def ask(*rows):
    return conclude({"run": {"notebook": "chunked_prefill"}, "points": list(rows)})


def test_the_stall_is_told_against_the_budget_that_holds_a_whole_prompt():
    stall, cost, scatter = ask(point(32, 0.1), point(128, 0.2), point(512, 0.8))
    assert stall.title == "Chunks shorten the worst stall: 100 ms at budget 32, 800 ms without"
    assert stall.kind == "result"
    assert stall.points == ("b512", "b32")
    assert (stall.effect.field, stall.effect.value) == ("prefill_stall_s.max", 0.125)
    assert cost.title == "The smallest budget shows no cost"
    assert "budget 32: 2 times" in scatter.text


def test_what_the_smallest_budget_costs():
    _, cost, _ = ask(point(32, 0.1, rate=60.0, ttft_s=1.0), point(512, 0.8))
    assert cost.title == "The smallest budget costs output and P95 TTFT"
    assert cost.kind == "cost"
    assert "output 100 tokens/s to 60 tokens/s" in cost.text


def test_two_repeats_can_not_tell_what_it_costs():
    rows = [point(32, 0.1, rate=rate, repeat=n) for n, rate in enumerate((90.0, 110.0))]
    rows += [point(512, 0.8, rate=rate, repeat=n) for n, rate in enumerate((95.0, 115.0))]
    _, cost, _ = ask(*rows)
    assert (cost.kind, cost.title) == ("unknown", "Can't tell what the smallest budget costs")
    assert "output 105 tokens/s to 100 tokens/s: can't tell (two repeats can't" in cost.text


def test_an_arm_without_chunks_is_whole_at_any_budget():
    without = point(512, 0.8, longest=9000, series="whole")
    without["effective"]["enable_chunked_prefill"] = False
    stall, *_ = ask(point(512, 0.1, longest=9000, series="in chunks"), without)
    assert stall.title.endswith("100 ms at budget 512 (in chunks), 800 ms without")


def test_nothing_to_compare_and_nothing_measured():
    (only, *_) = ask(point(32, 0.1), point(64, 0.1))
    assert (only.kind, only.title) == ("unknown", "With and without chunks: nothing to compare")
    unmeasured = point(32, None, null_reasons={"prefill_stall_s": "no prefill"})
    stall, *_ = ask(unmeasured, point(512, 0.8))
    assert stall.title == "Can't tell what chunks do to stalls"


def test_a_difference_that_is_not_resolved_is_no_result():
    stall, *_ = ask(point(32, 0.79), point(512, 0.8))
    assert (stall.kind, stall.title) == ("unknown", "Can't tell what chunks do to stalls")
