import json
import time

from analysis.facts import engine, records, request

from labkit.analysis.summary import summarize, to_frame


def test_document_is_strict_json_and_keeps_the_order():
    points = [records([request()], value=value) for value in (8, 1)]
    found = summarize({"name": "x"}, points, {"ttft_s": 1.0})
    assert (found["schema"], found["run"]) == (1, {"name": "x"})
    assert [row["value"] for row in found["points"]] == [8, 1]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_columns_do_not_depend_on_what_was_measured():
    good = to_frame(summarize({}, [records([request()], [engine(11.0, kv_cache_usage=0.5)])]))
    bad = to_frame(summarize({}, [records([], status="failed")]))
    assert list(good.columns) == list(bad.columns)
    assert good["ttft_s_p50"][0] == 0.5
    assert good["kv_cache_usage_max"][0] == 0.5
    assert bad["ttft_s_p50"].isna().all()
    assert good["finish_reasons"][0] == '{"length": 1}'


def test_an_empty_run_is_an_empty_table():
    assert to_frame(summarize({}, [])).empty


def test_ten_points_of_a_thousand_requests_take_less_than_a_second():
    chunks = [10.0 + n / 100 for n in range(64)]
    requests = [
        request(chunk_at_s=chunks, completion_tokens=64, last_token_at_s=chunks[-1])
        for _ in range(1000)
    ]
    samples = [engine(10 + n / 100, kv_cache_usage=0.5, num_preemptions=0) for n in range(400)]
    begun = time.process_time()
    summarize({}, [records(requests, samples) for _ in range(10)], {"ttft_s": 1.0})
    assert time.process_time() - begun < 1.0
