"""The answer to the SLO's question, from rows with counts worked out by hand."""

import pytest
from analysis.facts import latency, row

from labkit.analysis.capacity import find_capacities
from labkit.analysis.findings import conclude, headline
from labkit.analysis.tasks import find_tasks

RATE = "load.request_rate_per_s"
STEPS = "workload.num_steps"
SEARCH = {"low": 1.0, "high": 16.0, "share": 0.9, "steps": 6, "tolerance": 1.0}
SLO = {"ttft_s": 0.5, "tpot_s": 0.05}


def at(rate, met, e2e, *, n=100, goodput=None, **changes):
    """A rate at which so many of n requests are good, with a P95 of so many s."""
    tail = {**latency(e2e), "mean": e2e / 2}
    return row(
        float(rate),
        variable=RATE,
        series=None,
        load={"mode": "open"},
        num_requests=n,
        num_slo_met=met,
        slo_attainment=met / n,
        slo=SLO,
        slo_misses={"ttft_s": n - met, "tpot_s": (n - met) // 2, "error": 0},
        goodput_per_s=rate * met / n if goodput is None else goodput,
        duration_s=n / rate,
        offered_rate_per_s=float(rate),
        ttft_intended_s=latency(e2e / 2),
        e2e_latency_intended_s=tail,
        e2e_latency_s=tail,
        **changes,
    )


def summary(*rows, search=SEARCH, variable=RATE):
    values = [one["value"] for one in rows]
    sweep = {"variable": variable, "values": values, "repeats": 1, "series": None}
    if search:
        sweep["search"] = search
    return {"run": {"notebook": "slo", "sweep": [sweep]}, "points": list(rows)}


# 4 holds with 95 of 100, 8 misses with 60: their ratio, 2, is the tolerance of 100 %
FOUND = summary(at(1, 100, 0.3), at(16, 10, 9.0), at(4, 95, 0.5), at(8, 60, 1.5))


def told(data):
    return {one.title: one for one in conclude(data)}


def test_the_limit_is_bracketed_and_counted():
    found = told(FOUND)["The SLO holds up to 4 requests/s"]
    assert headline(FOUND) == found.title
    # Wilson, z = 1.96: 95 of 100 is 88.8 % to 97.8 %, 60 of 100 is 50.2 % to 69.1 %, and 100 of
    # 100 begins at 96.3 %
    assert found.text == (
        "90 % of the requests must keep the SLO (TTFT up to 500 ms and TPOT up to 50 ms); at 4 "
        "requests/s 95 of 100 (95 %, 95 % interval 88.8 % to 97.8 %) do, at 8 requests/s 60 of "
        "100 (60 %, 95 % interval 50.2 % to 69.1 %) do. The search ended as 4 and 8 are 100 % "
        "apart. Latencies count from the intended time of a request, waits included. [VALID]"
    )
    effect = found.effect
    assert (effect.field, effect.measure) == (RATE, "value")
    assert (effect.value, effect.low, effect.high, effect.n) == (4.0, 4.0, 8.0, 100)
    assert [one.value for one in found.evidence] == [1.0, 0.95, 0.6, 0.1]


def test_how_sharp_the_limit_is_stands_apart():
    # 100 of 100 begin at 96.3 %, 95 of 100 at 88.8 %: only 1 request/s is sure to hold
    found = told(FOUND)["100 requests leave the limit open"]
    assert found.text.startswith(
        "Beyond the chance of 100 requests (95 %) the SLO holds at 1 request/s and is missed from "
        "8 requests/s on. More num_requests"
    )
    sure = summary(at(1, 100, 0.3), at(16, 10, 9.0), at(4, 100, 0.5), at(8, 60, 1.5))
    assert "100 requests leave the limit open" not in told(sure)


def test_a_load_too_short_for_a_queue_is_told():
    # 10 requests at 4 a second last 9 / 4 = 2.25 s, under 10 times 0.5 s
    short = summary(at(1, 100, 0.3), at(16, 10, 9.0), at(4, 10, 0.5, n=10), at(8, 60, 1.5))
    assert (
        "Requests came for 2.25 s and a median one took 500 ms: a queue had little time to grow."
        in told(short)["10 requests leave the limit open"].text
    )
    assert "little time" not in conclude(FOUND)[1].text  # 99 / 4 s


def test_goodput_there_stands_beside_the_highest():
    # 4 * 0.95 = 3.8, 8 * 0.6 = 4.8: Wilson times the rate is 3.55 to 3.91 and 4.02 to 5.53
    found = told(FOUND)["Goodput peaks at 8 requests/s, where 60 % keep the SLO"]
    assert found.effect.value == pytest.approx(4.8 / 3.8)
    near = summary(at(1, 100, 0.3), at(16, 10, 9.0), at(4, 95, 0.5), at(8, 60, 1.5, goodput=4.0))
    title = "Goodput is 3.8 requests/s at 4 requests/s, no other is resolved above it"
    assert title in told(near)
    low = summary(at(1, 100, 0.3), at(16, 10, 9.0), at(4, 95, 0.5), at(8, 30, 1.5))
    assert "Goodput is 3.8 requests/s at 4 requests/s, the highest of all" in told(low)


def test_the_knee_is_where_latency_doubles():
    found = told(FOUND)["The knee lies between 4 and 8 requests/s"]
    # unloaded: 1 request/s * 0.15 s = 0.15 in flight; 0.5 s is under 2 * 0.3 s, 1.5 s over
    assert "It is 300 ms at 1 request/s, then 500 ms at 4 requests/s and 1.5 s at 8" in found.text
    assert (found.effect.low, found.effect.high) == (4.0, 8.0)
    assert "holds up to 4 requests/s, not beyond it" in found.text


def test_without_an_unloaded_rate_the_knee_cannot_be_told():
    busy = summary(at(8, 95, 3.0), at(16, 10, 9.0))
    found = told(busy)["Can't tell where the knee is"]
    assert found.verdict == "can't tell"
    assert "12.0 requests are in flight already" in found.text  # 8 * 1.5 s


def test_misses_are_told_by_part():
    found = told(FOUND)["TTFT gives way first"]
    assert found.text.startswith(
        "At 8 requests/s 40 of 100 requests miss the SLO: 40 by TTFT and 20 by TPOT. At 16 "
        "requests/s 90 of 100 requests miss the SLO: 90 by TTFT and 45 by TPOT."
    )


def test_the_tail_is_told_apart():
    found = told(FOUND)["P95 and P99 at 4 requests/s"]
    # facts.latency has n = 40: under 100, no request lies above P99
    assert "n = 40 requests a repeat: read P99 as the slowest." in found.text
    assert {one.field for one in found.evidence} >= {"ttft_intended_s.p99", "tpot_s.p95"}


MISSED = summary(at(1, 50, 0.3), at(16, 10, 9.0))
HELD = summary(at(1, 99, 0.3), at(16, 99, 0.4))
INVALID = summary(at(1, 99, 0.3, validity="INVALID"))


@pytest.mark.parametrize(
    ("data", "title", "kind"),
    [
        (MISSED, "The SLO is missed already at 1 request/s", "warning"),
        (HELD, "The SLO holds up to 16 requests/s at least", "result"),
        (INVALID, "Can't tell how much traffic keeps the SLO", "unknown"),
    ],
)
def test_bounds_that_do_not_bracket_it_are_told(data, title, kind):
    first = conclude(data)[0]
    assert (first.title, first.kind) == (title, kind)


def test_given_values_are_read_without_a_search():
    given = summary(at(1, 100, 0.3), at(4, 95, 0.5), at(8, 60, 1.5), search=None)
    (capacity,) = find_capacities(given)
    assert (capacity.step.low, capacity.step.high) == (4.0, 8.0)
    other = summary(at(1, 100, 0.3), search=None, variable="engine.max_num_seqs")
    assert find_capacities(other) == []


def task(steps, kept, calls_kept, p95, num_tasks=40, **changes):
    """A length of task: of 40 tasks so many kept the SLO in every call."""
    return row(
        steps,
        variable=STEPS,
        series="agents",
        workload={"kind": "agent", "think_time_s": 0.5},
        num_requests=num_tasks * steps,
        num_slo_met=calls_kept,
        num_tasks=num_tasks,
        num_tasks_slo_met=kept,
        task_latency_s={**latency(p95), "p50": p95 / 2},
        e2e_latency_s=latency(0.2),
        **changes,
    )


def ask_tasks(*rows):
    return {"run": {"notebook": "slo", "sweep": []}, "points": list(rows)}


def test_the_tail_compounds_where_intervals_part():
    # 40 calls: 38 kept; 160 calls of 4-call tasks: 144 kept, p = 0.9, p^4 = 0.6561
    data = ask_tasks(task(1, 38, 38, 0.3), task(4, 26, 144, 4.6))
    latency_told, chance = conclude(data)[:2]
    # 4 * 0.2 s + 3 * 0.5 s of thinking = 2.3 s, and 4.6 s is twice that
    assert latency_told.title == "A task of 4 calls takes 4.6 s at P95, 2 times 4 median calls"
    assert latency_told.effect.value == pytest.approx(2.0)
    assert chance.verdict == "held"
    assert chance.title == (
        "The tail compounds: 90 % of calls keep the SLO, 65 % of tasks of 4 calls do"
    )
    # Wilson of 26 of 40: 49.5 % to 77.9 %; of 38 of 40 from 83.5 %
    assert "4 calls: 26 of 40 tasks (65 %, 95 % interval 49.5 % to 77.9 %)" in chance.text
    assert "90 % of their calls, p^4 = 65.6 %" in chance.text
    assert "this run shows no other" in chance.text
    assert chance.series == "agents"


def test_misses_that_come_together_are_told():
    # p = 0.9 again, but 36 of 40 tasks are whole: from 76.9 % on, above 65.6 %
    chance = conclude(ask_tasks(task(1, 38, 38, 0.3), task(4, 36, 144, 4.6)))[1]
    assert chance.verdict == "can't tell"
    assert "they come together" in chance.text


def test_without_a_miss_nothing_compounds():
    chance = conclude(ask_tasks(task(1, 40, 40, 0.3), task(4, 40, 160, 1.0)))[1]
    assert chance.verdict == "can't tell"
    assert "No call missed the SLO" in chance.text
    assert conclude(ask_tasks(task(4, 40, 160, 1.0)))[1].verdict == "can't tell"


def test_tasks_without_an_slo_have_a_latency_and_no_chance():
    bare = task(2, None, None, 1.0)
    (one,) = find_tasks(ask_tasks(bare))["agents"]
    assert one.kept is None
    assert one.expected_s == pytest.approx(0.9)  # 2 * 0.2 + 0.5
    assert len(conclude(ask_tasks(bare))) == 1
