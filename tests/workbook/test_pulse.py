"""The picture of a running point, from events and samples worked out by hand."""

import re

from labkit.workbook.pulse import MAX_POINTS, Pulse

REQUESTS = {
    "event": "requests",
    "num_done": 4,
    "num_error": 1,
    "num_total": 16,
    "completion_tokens": 90,
    "elapsed_s": 6.0,
}


def sample(at_s: float, running: int | None, waiting: int | None, usage: float | None) -> dict:
    return {
        "source": "engine",
        "at_s": at_s,
        "num_requests_running": running,
        "num_requests_waiting": waiting,
        "kv_cache_usage": usage,
    }


def lines(html: str) -> list[list[str]]:
    return [found.split() for found in re.findall(r'points="([^"]*)"', html)]


def test_before_anything_is_told_there_is_only_a_line() -> None:
    assert (
        Pulse().draw() == '<div class="pulse" style="max-width:40em"><div>getting ready</div></div>'
    )


def test_requests_are_a_bar_and_words() -> None:
    pulse = Pulse()
    pulse.hear(REQUESTS, "point 1 of 1: a < b")
    html = pulse.draw()
    assert "point 1 of 1: a &lt; b" in html
    assert "width:25.0%" in html
    assert "4 of 16 requests, 1 failed; 15 tokens/s so far" in html


def test_samples_are_lines_over_the_time_since_the_first() -> None:
    pulse = Pulse()
    for one in (sample(10, 0, 0, 0.0), sample(11, 2, 4, 0.25), sample(12, 2, 0, 0.5)):
        pulse.sample(one)
    html = pulse.draw()
    waiting, running, usage = lines(html)
    # 320 wide for 2 s; 46 high for 4 requests and for all of the cache, 1 of margin
    assert waiting == ["0.0,47.0", "160.0,1.0", "320.0,47.0"]
    assert running == ["0.0,47.0", "160.0,24.0", "320.0,24.0"]
    assert usage == ["0.0,47.0", "160.0,35.5", "320.0,24.0"]
    text = re.sub(r"<[^>]*>", "", html)
    assert "running 2, ■ waiting 0" in text
    assert "KV cache 50 %" in text


def test_what_is_not_sampled_is_not_drawn() -> None:
    pulse = Pulse()
    pulse.sample(sample(10, 1, None, None))
    pulse.sample({"source": "host", "at_s": 10.0})
    html = pulse.draw()
    assert lines(html) == [["0.0,1.0"]]
    assert "waiting" not in html
    assert "KV" not in html


def test_a_new_point_begins_with_nothing() -> None:
    pulse = Pulse()
    pulse.hear(REQUESTS, "one")
    pulse.sample(sample(10, 1, 1, 0.1))
    pulse.hear({"event": "point"}, "two")
    assert pulse.draw() == '<div class="pulse" style="max-width:40em"><div>two</div></div>'


def test_a_long_point_keeps_a_thinned_line_from_first_to_last() -> None:
    pulse = Pulse()
    for second in range(5 * MAX_POINTS):
        pulse.sample(sample(float(second), 1, None, None))
    (drawn,) = lines(pulse.draw())
    assert MAX_POINTS / 2 <= len(drawn) <= MAX_POINTS
    assert (drawn[0], drawn[-1]) == ("0.0,1.0", "320.0,1.0")
