"""The claims on batching, from rows made by hand."""

from analysis.facts import latency, row

from labkit.analysis.findings import conclude, headline

STATIC = {"asked": {"static_batching": True}, "effective": {"static_batching": True}}
CLIENT = {
    "asked": {},
    "effective": {"static_batching": False},
    "load": {"mode": "static_batch"},
}
FREE = {"asked": {}, "effective": {"static_batching": False}}


def arm(series, rates, ttft_s, kind, **changes):
    return [
        row(
            value,
            rate,
            variable="load.max_concurrency",
            series=series,
            point_id=f"{series}-{value}",
            ttft_s=latency(ttft_s),
            e2e_latency_s=latency(value / 8),
            workload={"kind": "synthetic"},
            seed=0,
            **{**kind, "load": {"max_concurrency": value, **kind.get("load", {})}, **changes},
        )
        for value, rate in rates.items()
    ]


def ask(*rows):
    return {"run": {"notebook": "batching"}, "points": [row for own in rows for row in own]}


HELD = ask(
    arm("continuous", {1: 50.0, 16: 300.0, 64: 900.0, 128: 1200.0}, 0.5, FREE),
    arm("static", {1: 50.0, 16: 200.0, 64: 300.0, 128: 305.0}, 2.0, STATIC),
)
NOT_HELD = ask(
    arm("continuous", {1: 50.0, 16: 70.0, 64: 72.0}, 2.0, FREE),
    arm("static", {1: 50.0, 16: 60.0, 64: 60.0}, 2.1, STATIC),
)


def by_verdict(summary):
    return [(one.verdict, one.title) for one in conclude(summary) if one.verdict]


def test_the_articles_claims_held():
    told = by_verdict(HELD)
    assert told[:3] == [
        ("held", "At least twice the output of static"),
        ("held", "P95 TTFT 40 % or more below that of static"),
        ("held", "Output flattens and P95 climbs for static, while output climbs on for "
                 "continuous"),
    ]  # fmt: skip
    # KV usage is 41 % on average in every row
    assert told[3] == ("not held", "KV cache usage stays at 80 to 90 %")
    assert headline(HELD) == (
        "Output at max_concurrency 64: continuous gives 3 times that of static"
    )


def test_the_articles_claims_did_not_hold():
    assert [verdict for verdict, _ in by_verdict(NOT_HELD)] == ["not held"] * 4
    assert headline(NOT_HELD) == (
        "Output at max_concurrency 64: continuous gives 20 % more than that of static"
    )


def test_the_points_used_are_those_that_were_compared():
    gain = conclude(HELD)[0]
    assert gain.points == ("static-64", "continuous-64")
    assert gain.effect is not None
    assert (gain.effect.measure, gain.effect.value, gain.effect.n) == ("ratio", 3.0, 1)


def test_an_invalid_point_enters_no_conclusion():
    summary = ask(
        arm("continuous", {16: 300.0}, 0.5, FREE),
        arm("continuous", {64: 900.0}, 0.5, FREE, validity="INVALID"),
        arm("static", {16: 200.0, 64: 300.0}, 2.0, STATIC),
    )
    found = conclude(summary)
    assert "64" not in found[0].title
    assert all("continuous-64" not in one.points for one in found)


def test_each_control_is_told_apart():
    summary = ask(
        arm("continuous", {64: 900.0}, 0.5, FREE),
        arm("fixed by the client", {64: 800.0}, 0.6, CLIENT),
        arm("in the engine", {64: 300.0}, 2.0, STATIC),
    )
    titles = [one.title for one in conclude(summary)]
    assert titles[0] == "Output at max_concurrency 64: continuous gives 3 times that of in the " \
        "engine"  # fmt: skip
    assert any("12.5 % more than that of fixed by the client" in one for one in titles)


def test_other_requests_are_a_warning():
    static = arm("static", {64: 300.0}, 2.0, STATIC)
    other = [{**one, "workload": {"kind": "mixed"}} for one in static]
    summary = ask(arm("continuous", {64: 900.0}, 0.5, FREE), other)
    assert "The arms were not asked the same" in [one.title for one in conclude(summary)]
