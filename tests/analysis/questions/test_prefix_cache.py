"""What reuse saves, from rows made by hand."""

from analysis.facts import latency, row

from labkit.analysis.findings import conclude


def arm(series, ttfts, hits, **changes):
    return [
        row(
            prefix,
            variable="workload.prefix_tokens",
            series=series,
            point_id=f"{series}-{prefix}",
            asked={},
            workload={"prefix_tokens": prefix, "prompt_tokens": 64},
            seed=0,
            ttft_s=latency(ttft_s),
            prefix_cache_hit_rate=hit,
            **changes,
        )
        for (prefix, ttft_s), hit in zip(ttfts.items(), hits, strict=True)
    ]


def ask(*rows):
    return conclude(
        {"run": {"notebook": "prefix_cache"}, "points": [one for own in rows for one in own]}
    )


OFF = arm("cache off", {0: 0.1, 192: 0.4}, [0.0, 0.0])


def test_the_saving_is_told_with_the_share():
    found = ask(OFF, arm("cache on", {0: 0.1, 192: 0.1}, [0.0, 0.7]))
    # 192 of 192 + 64 tokens are shared
    assert found[0].title == (
        "cache on saves 75 % of the median TTFT at 75 % shared, against cache off"
    )
    assert found[0].kind == "result"
    assert (found[0].effect.value, found[0].effect.field) == (0.25, "ttft_s.p50")
    assert "0 % shared (prefix_tokens 0): median TTFT: 100 ms against 100 ms" in found[0].text
    assert found[1].title == "Cache hits of cache off: up to 0 %"
    assert found[2].title == "Cache hits of cache on: up to 70 %"
    assert "192: 70 % of 75 % shared" in found[2].text


def test_no_saving_is_not_told_as_one():
    (found, *_) = ask(OFF, arm("cache on", {0: 0.1, 192: 0.4}, [0.0, 0.7]))
    assert (found.kind, found.title) == (
        "unknown",
        "Can't tell what cache on saves against cache off",
    )
    (found, *_) = ask(OFF, arm("cache on", {0: 0.2, 192: 0.8}, [0.0, 0.7]))
    assert found.kind == "cost"


def test_each_policy_is_told_against_the_first_arm():
    found = ask(OFF, arm("fcfs", {192: 0.2}, [0.5]), arm("lpm", {192: 0.1}, [0.7]))
    assert [one.title for one in found[:1]] == [
        "fcfs saves 50 % of the median TTFT at 75 % shared, against cache off"
    ]
    assert any(one.title.startswith("lpm saves 75 %") for one in found)


def test_a_hit_rate_that_was_not_measured_says_why():
    off = arm("off", {192: 0.4}, [None], null_reasons={"prefix_cache_hit_rate": "not told"})
    found = ask(off, arm("on", {192: 0.4}, [0.5]))
    (untold,) = [one for one in found if one.title == "Cache hits of off: not measured"]
    assert untold.text == "The hit rate was not measured (not told)."
