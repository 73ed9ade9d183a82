"""A timeline puts every stamp on the seconds of its load, and says what it leaves out."""

from report.drawn import VARIABLE, traces

from labkit.report.figures import plot_timeline


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
    assert sum(len(t.y) for t in figure.data if t.name in ("queue and prefill", "error")) == 150
    assert "<b>Requests (150 of 1003 shown)</b>" in [a.text for a in figure.layout.annotations]


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
    assert second.layout.meta["caption"] == ""
