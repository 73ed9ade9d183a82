"""Server-sent events from stamped bytes, as the WHATWG HTML standard defines them.

Pure: bytes and stamps in, events out. It must not know HTTP, JSON, or what a token is.
"""

import bisect
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """The data of one event and when the piece that ended its last data line arrived.

    `complete` is false for what stood behind the last line end of a stream that was cut.
    """

    at_s: float
    data: str
    complete: bool = True


def read_events(pieces: Sequence[tuple[float, bytes]]) -> list[Event]:
    """Return the events in (stamp in seconds, bytes) pieces, in order.

    An event may span pieces and a piece may hold several events: they then share a stamp. A blank
    after `data:` is optional, comments and other fields are skipped, bytes that are no UTF-8 are
    replaced. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
    """
    body = b"".join(piece for _, piece in pieces)
    if b"\r" in body:
        return _read_lines(body, pieces)
    events: list[Event] = []
    start, end_of_piece, at_s, later = 0, 0, 0.0, iter(pieces)
    for block in body.split(b"\n\n"):
        end = start + len(block)
        if block.startswith(b"data:") and b"\n" not in block and end < len(body):
            while end_of_piece <= end:
                at_s, piece = next(later)
                end_of_piece += len(piece)
            events.append(Event(at_s, str(_strip_field(block), "utf-8", "replace")))
        elif block.strip(b"\n"):
            return _read_lines(body, pieces)
        start = end + 2
    return events


def _read_lines(body: bytes, pieces: Sequence[tuple[float, bytes]]) -> list[Event]:
    """Return the events of any stream, line by line; the common form is read faster above."""
    stamps = [at_s for at_s, _ in pieces]
    ends = list(accumulate(len(piece) for _, piece in pieces))
    events: list[Event] = []
    lines: list[bytes] = []
    at_s = 0.0
    start = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    for match in _LINE_END.finditer(body, start):
        line = body[start : match.start()]
        if line.startswith(b"data:") or line == b"data":
            lines.append(_strip_field(line))
            at_s = stamps[bisect.bisect_right(ends, match.start())]
        elif not line and lines:
            events.append(Event(at_s, _join(lines)))
            lines = []
        start = match.end()

    rest = body[start:]
    if lines:
        events.append(Event(at_s, _join(lines)))
    if rest.startswith(b"data:"):
        events.append(Event(stamps[-1], _join([_strip_field(rest)]), complete=False))
    return events


def _strip_field(line: bytes) -> bytes:
    value = line[5:]
    return value[1:] if value.startswith(b" ") else value


def _join(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", errors="replace")
