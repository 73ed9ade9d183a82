"""Gaps of running streams, worked out by hand."""

from typing import Any

import pytest

from labkit.analysis.gaps import find_gaps, find_longest_prefills


def stream(*chunk_at_s: float, **told: Any) -> dict[str, Any]:
    return {"chunk_at_s": list(chunk_at_s), **told}


def test_streams_are_counted_in_the_middle_of_a_gap() -> None:
    # One from 0 to 4 s; another from 1 to 3 s.
    found = find_gaps([stream(0, 1, 2, 3, 4), stream(1, 2, 3)])
    assert found.seconds.tolist() == [1] * 6
    assert found.num_running.tolist() == [1, 2, 2, 1, 2, 2]
    assert found.end_at_s.tolist() == [1, 2, 3, 4, 2, 3]


def test_a_gap_that_ends_with_the_first_token_of_another_held_its_prefill() -> None:
    found = find_gaps([stream(0, 1, 2, 3, 4), stream(2.02, 3, 4)])
    assert found.with_prefill.tolist() == [False, True, False, False, False, False]


def test_first_tokens_of_one_step_are_not_each_others_prefill() -> None:
    found = find_gaps([stream(0.0, 1, 2), stream(0.03, 1, 2)])
    assert not found.with_prefill.any()


def test_a_prefill_of_known_length_is_in_every_gap_that_it_touches() -> None:
    # The second's prefill lasts from 1.5 to 3.5 s: in the gaps that end at 2, 3 and 4 s.
    told = find_gaps([stream(0, 1, 2, 3, 4, 5), stream(3.5, 5, prefill_s=2.0)])
    assert told.with_prefill.tolist() == [False, True, True, True, False, False]
    same = find_gaps([stream(0, 1, 2, 3, 4, 5), stream(3.5, 5)], prefill_s=2.0)
    # By the mean the first's own prefill is known too, and lies before its first gap.
    assert same.with_prefill.tolist() == told.with_prefill.tolist()


def test_one_chunk_is_a_prefill_but_no_stream() -> None:
    found = find_gaps([stream(0, 1, 2), stream(1.5), {"chunk_at_s": []}, {}])
    assert found.num_running.tolist() == [1, 1]
    assert found.with_prefill.tolist() == [False, True]


def test_nothing_gives_nothing() -> None:
    assert len(find_gaps([]).seconds) == 0
    assert len(find_gaps([stream(1.0)]).seconds) == 0


def test_of_many_streams_some_are_taken_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labkit.analysis.gaps.MAX_STREAMS", 3)
    found = find_gaps([stream(0, 1, 2)] * 7)
    assert len(found.seconds) == 6
    assert set(found.num_running.tolist()) == {7}


def test_steps_of_a_chunked_prefill_that_no_engine_tells_are_no_decode_steps() -> None:
    # sent at 1.5 with no queue: its pieces are in the gaps that end at 2, 3 and 4 s
    requests = [stream(0, 1, 2, 3, 4, 5), stream(3.5, 5, sent_at_s=1.5)]
    assert find_gaps(requests).with_prefill.tolist() == [False, True, True, True, False, False]


def test_a_wait_for_a_place_is_no_prefill() -> None:
    # one place: each is in prefill from the last token of the one before it
    queue = [stream(at, at + 1, sent_at_s=0.0) for at in (1, 3, 6)]
    assert find_longest_prefills(queue) == [1, 1, 2]
    # with two places that were seen in use, the third waits for the first of them
    assert find_longest_prefills(queue, 2.0) == [1, 3, 4]


def test_a_long_prefill_that_others_overtake_began_with_its_send() -> None:
    # two places: the first prompt takes 3 s in one, short ones come and go in the other
    others = [stream(at + 0.2, at + 0.9, sent_at_s=at) for at in (0.1, 1.1, 2.1)]
    later = stream(3.5, 4, sent_at_s=3.2)
    found = find_longest_prefills([stream(3, 5, sent_at_s=0.0), *others, later])
    assert found == pytest.approx([3, 0.2, 0.2, 0.2, 0.3])


def test_a_request_without_a_first_token_or_a_send_tells_no_prefill() -> None:
    assert find_longest_prefills([stream(), stream(1, 2)]) == [0, 0]
    assert find_longest_prefills([]) == []
