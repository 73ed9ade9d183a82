"""The timeline of a point: stamps on seconds of load, phases, marks, tokens/s, what is left out."""

from itertools import pairwise
from typing import Any

import pytest

from labkit.report.figures import plot_timeline

VARIABLE = "engine.max_num_seqs"


def traces(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def titles(figure: Any) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def test_timeline_puts_stamps_on_seconds_of_load(records, rows):
    figure = plot_timeline(records, rows[2])
    (wait,) = traces(figure, "queue and prefill")
    assert (list(wait.base), list(wait.x), list(wait.y)) == ([0.0, 1.0], [0.5, 0.5], [1, 2])
    (decode,) = traces(figure, "decode")
    assert (list(decode.base), list(decode.x)) == ([0.5, 1.5], [1.5, 1.5])
    (error,) = traces(figure, "error")
    assert (list(error.base), list(error.x)) == ([2.0], [2.0])
    (usage,) = traces(figure, "KV cache")
    assert list(usage.x) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert list(usage.y) == [0.0, 10.0, None, 30.0, 40.0]
    (memory,) = traces(figure, "engine memory")
    assert list(memory.y) == [1.0, 2.0, 3.0, 4.0, 5.0]
    titles = [a.text for a in figure.layout.annotations]
    assert "<b>Engine memory (no GPU sampled)</b>" in titles
    assert figure.layout.title.text.startswith(
        "max_num_seqs 4 (VALID): 3 requests in 4 s; at most 4 run"
    )


def test_timeline_shows_each_gpu(records, rows):
    for index in (0, 1):
        records.samples.append(
            {"source": "gpu", "at_s": 101.0, "gpu_index": index, "gpu_memory_used_bytes": 2**31}
        )
    figure = plot_timeline(records, rows[2])
    assert [list(traces(figure, f"GPU {i} memory")[0].y) for i in (0, 1)] == [[2.0], [2.0]]


def test_timeline_is_thinned_and_says_so(records, rows):
    records.requests.extend(
        {**records.requests[0], "sent_at_s": 101 + i / 1000, "first_token_at_s": 103.0}
        for i in range(1000)
    )
    figure = plot_timeline(records, rows[2])
    shown = sum(len(t.y) for t in figure.data if t.name in ("queue and prefill", "error"))
    assert 110 <= shown <= 150
    assert f"<b>Requests ({shown} of 1003 shown)</b>" in titles(figure)
    assert "Of 1,003 requests the 40 slowest have a bar" in figure.layout.meta["caption"]


def test_timeline_of_nothing_says_why(records, rows):
    empty = type(records)("x", {"variable": VARIABLE, "value": 4}, [], [])
    figure = plot_timeline(empty, {"variable": VARIABLE, "value": 4})
    notes = " ".join(a.text.replace("<br>", " ") for a in figure.layout.annotations)
    assert "no request was sent" in notes
    assert "neither GPU nor host memory was sampled" in notes
    assert figure.layout.title.text == "max_num_seqs 4: no request was sent"


def test_timeline_shows_the_wait_for_a_slot_and_the_doubts(records, rows):
    records.requests[1].update(intended_at_s=100.25, released_at_s=101.0)
    doubted = {**rows[2], "validity": "SUSPECT", "validity_reasons": ["late"]}
    figure = plot_timeline(records, doubted)
    (slot,) = traces(figure, "wait for a slot")
    assert (list(slot.base), list(slot.x), list(slot.y)) == ([0.25], [0.75], [2])
    assert figure.layout.title.text.startswith("max_num_seqs 4 (SUSPECT): 3 requests")
    assert figure.layout.meta["caption"].endswith("SUSPECT: late.")


def test_how_to_read_a_timeline_is_said_once(records, rows):
    first, second = (plot_timeline(records, {**rows[2], "index": n}) for n in (0, 1))
    assert first.layout.meta["caption"].startswith("Read it from top to bottom")
    assert second.layout.meta["caption"] == (
        "This engine does not tell queue from prefill. Tokens/s over 250 ms each."
    )


def test_the_slowest_of_many_are_shown(records, rows):
    fast = {**records.requests[0], "first_token_at_s": 100.6, "last_token_at_s": 100.7}
    records.requests.extend(
        {**fast, "sent_at_s": 100.5 + i / 10_000, "finished_at_s": 100.7} for i in range(1000)
    )
    records.requests[500] |= {"last_token_at_s": 103.9, "completion_tokens": 77}
    figure = plot_timeline(records, rows[2])
    (decode,) = traces(figure, "decode")
    assert any("77 tokens" in text for text in decode.hovertext)


def test_prefill_is_the_engines_own_where_it_told(records, rows):
    for request in records.requests[:2]:
        request["prefill_s"] = 0.2
    figure = plot_timeline(records, rows[2])
    (queue,), (prefill,) = traces(figure, "queue"), traces(figure, "prefill")
    assert (list(queue.base), list(queue.x)) == ([0.0, 1.0], [0.3, 0.3])
    assert (list(prefill.base), list(prefill.x)) == ([0.3, 1.3], [0.2, 0.2])
    assert "told the time in prefill of each" in figure.layout.meta["caption"]
    assert not traces(figure, "queue and prefill")


def test_prefill_is_the_engines_mean_where_it_told_no_more(records, rows):
    row = {**rows[2], "engine_prefill_time_s": {"mean": 0.4, "n": 2}}
    figure = plot_timeline(records, row)
    (prefill,) = traces(figure, "prefill")
    assert list(prefill.x) == [0.4, 0.4]
    assert "the engine's mean, 400 ms" in figure.layout.meta["caption"]


def test_tokens_are_counted_by_windows(records, rows):
    # 8 tokens in 4 chunks at 101.1 to 102.6 s; 10 of 30 prompt tokens came from a cache.
    records.requests[:] = [
        {**records.requests[0], "chunk_at_s": [101.1, 101.6, 102.1, 102.6], "completion_tokens": 8,
         "prompt_tokens": 30, "cached_tokens": 10},
    ]  # fmt: skip
    figure = plot_timeline(records, rows[2])
    (output,), (prompt,) = traces(figure, "output tokens"), traces(figure, "prompt tokens")
    assert output.x[1] == 0.25
    told = {at: rate for at, rate in zip(output.x, output.y, strict=True) if rate}
    assert told == {1.0: 8.0, 1.5: 8.0, 2.0: 8.0, 2.5: 8.0}  # 2 tokens in a quarter of a second
    assert {at: y for at, y in zip(prompt.x, prompt.y, strict=True) if y} == {1.0: 80.0}


def test_errors_and_preemptions_are_marked(records, rows):
    for second, sample in enumerate(s for s in records.samples if s["source"] == "engine"):
        sample["num_preemptions"] = [0, 0, None, 3, 3][second]
    figure = plot_timeline(records, rows[2])
    (failed,) = traces(figure, "request failed (1)")
    assert (list(failed.x), list(failed.text)) == ([4.0], ["timeout"])
    (pushed,) = traces(figure, "preempted (1)")
    assert (list(pushed.x), list(pushed.text)) == ([3.0], ["3 preempted"])


def test_a_gpu_has_utilisation_and_power(records, rows):
    for second in (100.0, 102.0):
        records.samples.append(
            {"source": "gpu", "at_s": second, "gpu_index": 0, "gpu_memory_used_bytes": 2**30,
             "gpu_utilization": 0.5, "gpu_power_w": 300.0}
        )  # fmt: skip
    figure = plot_timeline(records, rows[2])
    assert list(traces(figure, "utilisation")[0].y) == [50.0, 50.0]
    assert list(traces(figure, "power")[0].y) == [300.0, 300.0]
    assert {"<b>GPU utilisation</b>", "<b>GPU power</b>"} <= set(titles(figure))
    assert figure.layout.yaxis7.title.text == "W"


def test_without_a_gpu_the_cores_stand_there(records, rows):
    for sample in records.samples:
        if sample["source"] == "host":
            sample["engine_cpu_utilization"] = 0.9
    figure = plot_timeline(records, rows[2])
    assert list(traces(figure, "engine CPU")[0].y) == [0.9] * 5
    assert "<b>Cores in use</b>" in titles(figure)


def test_the_capacity_stands_in_the_title(records, rows):
    row = {**rows[2], "kv_memory": {"capacity_tokens": 4096, "capacity_bytes": 3 * 2**30}}
    assert "<b>KV cache usage of 4,096 tokens, 3 GiB</b>" in titles(plot_timeline(records, row))


@pytest.mark.parametrize("gpu", [False, True])
def test_panels_lie_apart_on_one_axis(records, rows, gpu):
    if gpu:
        records.samples.append({"source": "gpu", "at_s": 101.0, "gpu_index": 0})
    figure = plot_timeline(records, rows[2])
    count = 7 if gpu else 6
    domains = [figure.layout[f"yaxis{'' if n == 0 else n + 1}"].domain for n in range(count)]
    for above, below in pairwise(domains):
        assert above[0] > below[1] + 0.03
    assert domains[0][1] == 1
    assert domains[-1][0] == pytest.approx(0, abs=1e-4)
    assert {trace.xaxis for trace in figure.data} <= {None, "x"}


def test_ten_times_the_requests_make_no_larger_a_figure(records, rows):
    """What a browser must draw is bounded, whatever the load was."""
    sizes = []
    for count in (2_000, 18_000):
        records.requests.extend(
            {**records.requests[0], "sent_at_s": 101 + i / 10_000, "first_token_at_s": 103.0}
            for i in range(count)
        )
        sizes.append(len(plot_timeline(records, rows[2]).to_json()))
    assert sizes[1] < 1.1 * sizes[0] < 100_000


def test_a_gap_between_samples_is_a_gap_in_the_line(records, rows):
    records.samples[:] = [
        {"source": "engine", "at_s": 100.0 + at, "kv_cache_usage": 0.5, "error": None}
        for at in (0.0, 0.5, 1.0, 3.0, 3.5)
    ]
    (usage,) = traces(plot_timeline(records, rows[2]), "KV cache")
    assert list(usage.x) == [0.0, 0.5, 1.0, 2.0, 3.0, 3.5]
    assert list(usage.y) == [50.0, 50.0, 50.0, None, 50.0, 50.0]
