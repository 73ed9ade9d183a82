import pytest
from analysis.facts import engine, point, request

from labkit.analysis.gauges import hit_rate, sampled

WINDOW = (10.0, 14.0)


def test_engine_gauges_and_preemptions():
    samples = [
        engine(9.9, kv_cache_usage=0.9, num_preemptions=2),
        engine(11.0, kv_cache_usage=0.2, num_requests_waiting=0, num_preemptions=2),
        engine(13.0, kv_cache_usage=0.6, num_requests_waiting=3, num_preemptions=5),
    ]
    found, reasons = sampled(point(), samples, WINDOW)
    assert found["kv_cache_usage"] == {"mean": pytest.approx(0.4), "max": 0.6, "n": 2}
    assert found["num_requests_waiting"] == {"mean": 1.5, "max": 3.0, "n": 2}
    assert found["num_preemptions"] == 3
    assert found["num_requests_running"] is None
    assert reasons["num_requests_running"] == "the engine does not tell num_requests_running"
    assert reasons["gpu_power_w"] == "no NVIDIA driver"
    assert reasons["engine_memory_bytes"] == "no host was sampled"


def test_a_restart_is_counted():
    samples = [engine(at, generation_tokens_total=n) for at, n in ((10, 50), (12, 90), (13, 4))]
    found, _ = sampled(point(), samples, WINDOW)
    assert found["counter_resets"] == 1


@pytest.mark.parametrize(
    ("samples", "window", "reason"),
    [
        ([], None, "the load never started"),
        ([], WINDOW, "no engine was sampled"),
        ([engine(11, error="timed out")], WINDOW, "all 1 engine samples failed: timed out"),
        ([engine(20, kv_cache_usage=0.1)], WINDOW, "no engine sample fell inside the load"),
    ],
)
def test_reasons(samples, window, reason):
    found, reasons = sampled(point(), samples, window)
    assert found["kv_cache_usage"] is None
    assert reasons["kv_cache_usage"] == reason


def test_two_gpus():
    samples = [
        {
            "source": "gpu",
            "at_s": 11.0 + index,
            "gpu_index": index,
            "gpu_memory_used_bytes": 100,
            "gpu_utilization": 0.5 * index,
        }
        for index in (0, 1)
    ]
    found, _ = sampled(point(gpu={"available": True, "reason": None}), samples, WINDOW)
    assert found["gpu_memory_used_bytes"] == {"mean": 200, "max": 200, "n": 1}
    assert found["gpu_utilization"] == {"mean": 0.25, "max": 0.5, "n": 1}


def test_hit_rate_from_counters_then_from_usage():
    counters = [
        engine(at, prefix_cache_queries_tokens_total=queries, prefix_cache_hits_tokens_total=hits)
        for at, queries, hits in ((9.0, 100, 10), (15.0, 300, 60))
    ]
    cached = [request(cached_tokens=4), request(cached_tokens=12), request()]
    assert hit_rate(counters, cached, WINDOW) == (0.25, "engine counters")
    assert hit_rate([], cached, WINDOW) == (0.5, "usage.cached_tokens")
    rate, reason = hit_rate([], [request()], WINDOW)
    assert rate is None
    assert "neither" in reason
