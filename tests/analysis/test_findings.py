import pytest
from analysis.facts import latency, row

from labkit.analysis import findings
from labkit.analysis.finding import Finding
from labkit.analysis.findings import MAX_HEADLINE, conclude, headline, tell_run


def summary(*rows):
    return {"schema": 1, "run": {}, "points": list(rows)}


SWEEP = (
    row(1, 59.2, ttft_s=latency(4.1), tpot_s=latency(0.012)),
    row(4, 120.0, ttft_s=latency(2.0), tpot_s=latency(0.02)),
    row(8, 142.3, ttft_s=latency(1.2), tpot_s=latency(0.031)),
    row(16, 139.0, ttft_s=latency(1.21), tpot_s=latency(0.05)),
)


def test_a_sweep_says_what_is_best_and_what_it_costs():
    found = {one.title: one for one in conclude(summary(*SWEEP))}
    best = found["max_num_seqs 8 gives the most output"]
    assert best.kind == "result"
    assert best.text == (
        "max_num_seqs 8 gives 142 tokens/s, 2.4 times that of 1. "
        "16 gives nearly as much and can't be told apart from it. [VALID]"
    )
    cost = found["max_num_seqs 8 costs P95 TPOT"]
    assert cost.kind == "cost"
    assert cost.text == (
        "Against max_num_seqs 1, the lowest in throughput: P95 TTFT falls from 4.1 s to 1.2 s; "
        "P95 TPOT rises from 12 ms to 31 ms; "
        "P95 end-to-end latency: no resolved difference, under 10 % (2 s and 2 s). [VALID]"
    )
    lowest = found["Lowest P95 TTFT at 8 and P95 TPOT at 1"]
    assert lowest.text == (
        "P95 TTFT is lowest at max_num_seqs 8 (1.2 s); 16 can't be told apart from it. "
        "P95 TPOT is lowest at max_num_seqs 1 (12 ms). "
        "P95 end-to-end latency: no resolved difference, under 10 % (2 s to 2 s). [VALID]"
    )
    queue = found["Queue and KV cache at max_num_seqs 8"]
    assert queue.text == (
        "The waiting queue holds 1.5 requests on average, 6 at most. "
        "KV cache usage is 41 % on average, 62 % at its highest. [VALID]"
    )
    assert found["Small differences are not resolved"].kind == "unknown"
    told = headline(summary(*SWEEP))
    assert told == "max_num_seqs 8 gives the most output: 142 tokens/s, 2.4 times that of 1"


def test_repeats_are_pooled_with_an_interval():
    rows = [
        row(value, rate + drift, repeat=repeat)
        for value, rate in ((1, 50.0), (8, 100.0))
        for repeat, drift in enumerate((-1.0, 0.0, 1.0))
    ]
    found = conclude(summary(*rows))
    assert found[0].text == (
        "max_num_seqs 8 gives 100 tokens/s (95 % interval 97.5 to 102, 3 repeats), "
        "2 times that of 1. [VALID]"
    )
    assert "Small differences are not resolved" not in {one.title for one in found}


def test_repeats_that_scatter_too_much_resolve_nothing():
    rows = [row(value, rate, repeat=n) for value in (1, 8) for n, rate in enumerate((50, 90, 130))]
    found = conclude(summary(*rows))
    title = "Can't tell what max_num_seqs does to throughput"
    assert (found[0].title, found[0].kind) == (title, "unknown")
    assert "can't tell (the repeats scatter too much)" in found[0].text
    assert headline(summary(*rows)) == title


def test_invalid_points_are_left_out_by_name_and_suspect_ones_named():
    bad = row(32, 999.0, validity="INVALID", validity_reasons=["9 of 20 requests failed"])
    odd = row(4, 90.0, validity="SUSPECT", validity_reasons=["1 of 20 requests failed"], repeat=1)
    found = conclude(summary(row(1, 50.0), odd, bad))
    assert found[0].title == "max_num_seqs 4 gives the most output"
    assert found[0].text.endswith("1.8 times that of 1. [SUSPECT at max_num_seqs = 4]")
    assert headline(summary(row(1, 50.0), odd, bad)).endswith(
        "that of 1 [SUSPECT at max_num_seqs = 4]"
    )
    assert headline(summary(odd, bad)) == "max_num_seqs 4 gives 90 tokens/s [SUSPECT]"
    assert "999" not in " ".join(one.text for one in found)
    assert found[-2].title == "1 point is left out: INVALID"
    assert found[-2].text == "max_num_seqs 32: 9 of 20 requests failed."
    assert found[-1].title == "1 point is SUSPECT"
    assert found[-1].text == (
        "Used, with doubts. max_num_seqs 4 (repeat 1): 1 of 20 requests failed."
    )


def test_nothing_one_and_all_invalid():
    assert [one.kind for one in conclude(summary())] == ["unknown"]
    assert headline(summary()) == "No points were measured"
    alone = conclude(summary(row(8, 142.0, kv_cache_usage=None)))
    assert alone[0].title == "Only max_num_seqs 8 was measured"
    assert alone[0].text.startswith(
        "max_num_seqs 8 gives 142 tokens/s of output, a P95 TTFT of 1 s,"
    )
    assert "KV cache usage was not measured (no reason was recorded)." in alone[1].text
    assert headline(summary(row(8, 142.0))) == "max_num_seqs 8 gives 142 tokens/s"
    dead = summary(row(8, None, validity="INVALID", validity_reasons=["the point is failed"]))
    assert [one.kind for one in conclude(dead)] == ["unknown", "warning"]
    assert headline(dead) == "No point is valid, so nothing can be concluded"


def test_two_sweeps_are_told_apart():
    other = [
        row(value, rate, variable="engine.max_num_batched_tokens")
        for value, rate in ((64, 80.0), (512, 120.0))
    ]
    found = conclude(summary(*SWEEP, *other))
    assert {one.variable for one in found} == {
        "engine.max_num_seqs",
        "engine.max_num_batched_tokens",
    }
    assert headline(summary(*SWEEP, *other)).endswith(
        "; max_num_batched_tokens 512 gives the most output: 120 tokens/s, 1.5 times that of 64"
    )


def test_a_headline_has_room_for_so_many_sweeps_and_counts_the_rest():
    many = [
        row(value, rate, variable="load.max_concurrency", series=f"arm {arm}")
        for arm in range(6)
        for value, rate in ((1, 80.0), (64, 120.0))
    ]
    first = "arm 0: max_concurrency 64 gives the most output: 120 tokens/s, 1.5 times that of 1"
    assert headline(summary(*many)) == f"{first}; {first.replace('0:', '1:')}; 4 more below"


def test_a_headline_that_is_too_long_alone_is_cut_at_a_word_and_keeps_its_doubt():
    long = "a name of an arm that goes on " * 12
    rows = [row(v, r, series=long, validity="SUSPECT") for v, r in ((1, 80.0), (64, 120.0))]
    told = headline(summary(*rows))
    assert told.startswith("a name of an arm")
    assert told.endswith("… [SUSPECT at max_num_seqs = 1 and 64]")
    assert len(told) <= MAX_HEADLINE
    assert told.partition("…")[0].rpartition(" ")[2] in long.split()


def test_a_headline_counts_the_values_in_doubt_where_they_are_many():
    rows = [row(v, 10.0 * v, validity="SUSPECT" if v < 16 else "VALID") for v in (1, 2, 4, 8, 16)]
    assert headline(summary(*rows)) == (
        "max_num_seqs 16 gives the most output: 160 tokens/s, 16 times that of 1 "
        "[SUSPECT at 4 of 5 values]"
    )


def test_the_question_of_a_notebook_is_asked_once(monkeypatch):
    asked = []

    def answer(told):
        asked.append(told)
        return [Finding("It does", "…", "result")]

    monkeypatch.setitem(findings.QUESTIONS, "asked", answer)
    title, (first, *_) = tell_run({"run": {"notebook": "asked"}, "points": [row(1, 50.0)]})
    assert (title, first.title, len(asked)) == ("It does", "It does", 1)


def test_goodput():
    slo = {"ttft_s": 2.0, "tpot_s": 0.05}
    good = [
        row(1, 50.0, goodput_per_s=0.5, slo_attainment=0.4, slo=slo),
        row(8, 99.0, goodput_per_s=1.25, slo_attainment=0.9, slo=slo),
    ]
    told = {one.title: one for one in conclude(summary(*good))}
    assert told["max_num_seqs 8 best meets the SLO"].text == (
        "max_num_seqs 8 serves 1.25 requests/s within the SLO (TTFT up to 2 s and TPOT up to "
        "50 ms), 90 % of all requests. [VALID]"
    )
    never = [dict(one, goodput_per_s=0.0) for one in good]
    assert "The SLO is never met" in {one.title for one in conclude(summary(*never))}
    same = [dict(one, goodput_per_s=1.0) for one in good]
    assert "Goodput: no resolved effect of max_num_seqs" in {
        one.title for one in conclude(summary(*same))
    }


@pytest.mark.parametrize("values", [(True, False), (None, "lpm"), ([1, 2], {"a": 1})])
def test_values_that_are_no_numbers(values):
    rows = [row(value, rate) for value, rate in zip(values, (50.0, 90.0), strict=True)]
    assert conclude(summary(*rows))[0].kind == "result"


def test_unmeasured_latency_is_said():
    rows = [
        row(value, rate, tpot_s=None, null_reasons={"tpot_s": "every answer came in one chunk"})
        for value, rate in ((1, 50.0), (8, 90.0))
    ]
    text = " ".join(one.text for one in conclude(summary(*rows)))
    assert "P95 TPOT was not measured (every answer came in one chunk)." in text


def test_a_rate_sweep_speaks_of_what_a_user_waits_for():
    # From the send the latencies would not differ; the wait for a slot tells them apart.
    rows = [
        row(
            rate,
            output,
            variable="load.request_rate_per_s",
            load={"mode": "open", "request_rate_per_s": rate},
            ttft_intended_s=latency(ttft),
            e2e_latency_intended_s=latency(ttft + 1),
            slot_wait_s=latency(ttft - 0.5),
        )
        for rate, output, ttft in ((2.0, 60.0, 0.6), (8.0, 120.0, 3.5))
    ]
    told = {one.title: one.text for one in conclude(summary(*rows))}
    cost = told["request_rate_per_s 8 costs P95 TTFT and P95 end-to-end latency"]
    assert cost == (
        "Against request_rate_per_s 2, the lowest in throughput: P95 TTFT rises from 600 ms to "
        "3.5 s; P95 TPOT: no resolved difference, under 10 % (20 ms and 20 ms); P95 end-to-end "
        "latency rises from 1.6 s to 4.5 s. Latencies count from the intended time of a "
        "request, waits included. [VALID]"
    )
    assert "wait for a slot: P95 3 s." in told["Queue and KV cache at request_rate_per_s 8"]
    assert headline(summary(*rows)) == (
        "request_rate_per_s 8 gives the most output: 120 tokens/s, 2 times that of 2"
    )


def test_a_sweep_of_the_mode_compares_what_both_modes_have():
    rows = [
        row("closed", 50.0, variable="load.mode", load={"mode": "closed"}),
        row("open", 90.0, variable="load.mode", load={"mode": "open"}),
    ]
    assert "intended" not in " ".join(one.text for one in conclude(summary(*rows)))
