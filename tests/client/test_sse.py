import pytest

from labkit.client.sse import Event, _read_lines, read_events


def test_one_event_in_one_piece() -> None:
    assert read_events([(1.0, b"data: a\n\n")]) == [Event(1.0, "a")]


def test_blank_after_colon_is_optional_and_only_one_is_taken() -> None:
    assert read_events([(1.0, b"data:a\n\ndata:  b \n\n")]) == [Event(1.0, "a"), Event(1.0, " b ")]


def test_several_events_in_one_piece_share_its_stamp() -> None:
    pieces = [(1.0, b"data: a\n\n"), (2.0, b"data: b\n\ndata: c\n\n")]
    assert [(e.at_s, e.data) for e in read_events(pieces)] == [(1.0, "a"), (2.0, "b"), (2.0, "c")]


def test_an_event_over_pieces_has_the_stamp_of_the_piece_that_ends_its_line() -> None:
    pieces = [(1.0, b"da"), (2.0, b"ta: a"), (3.0, b"b\n"), (4.0, b"\n")]
    assert read_events(pieces) == [Event(3.0, "ab")]


def test_utf8_split_between_pieces_is_whole() -> None:
    snowman = "☃".encode()
    pieces = [(1.0, b"data: " + snowman[:1]), (2.0, snowman[1:] + b"\n\n")]
    assert read_events(pieces) == [Event(2.0, "☃")]


def test_comments_and_other_fields_are_skipped() -> None:
    body = b": keep-alive\n\nevent: x\nid: 1\ndata: a\n\n: ping\n\n"
    assert read_events([(1.0, body)]) == [Event(1.0, "a")]


def test_crlf_and_cr_end_lines_even_when_split() -> None:
    assert read_events([(1.0, b"data: a\r"), (2.0, b"\n\r\ndata: b\r\r")]) == [
        Event(1.0, "a"),
        Event(2.0, "b"),
    ]


def test_data_lines_of_one_event_are_joined() -> None:
    assert read_events([(1.0, b"data: a\ndata: b\n\n")]) == [Event(1.0, "a\nb")]


def test_what_stands_behind_the_last_line_end_is_not_complete() -> None:
    events = read_events([(1.0, b"data: a\n\n"), (2.0, b'data: {"x')])
    assert events == [Event(1.0, "a"), Event(2.0, '{"x', complete=False)]


def test_no_bytes_no_events() -> None:
    assert read_events([]) == []
    assert read_events([(1.0, b"<html>no</html>")]) == []


def test_byte_order_mark_is_skipped() -> None:
    assert read_events([(1.0, b"\xef\xbb\xbfdata: a\n\n")]) == [Event(1.0, "a")]


BODY = (
    'data: {"a":1}\n\ndata:{"b":"ü"}\n\n: quiet\n\ndata: one\ndata: two\n\ndata: [DONE]\n\n'
).encode()


@pytest.mark.parametrize("body", [BODY[:30], BODY, BODY[:-1], BODY[:-9]])
def test_the_fast_way_says_what_the_careful_way_says(body: bytes) -> None:
    for cut in range(len(body) + 1):
        pieces = [(1.0, body[:cut]), (2.0, body[cut:])]
        assert read_events(pieces) == _read_lines(body, pieces)
