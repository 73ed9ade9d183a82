"""Answers that have ended and wait to be parsed, and whether there is room for more.

Parsing an answer takes longer than receiving it, so with an engine that is fast enough they would
pile up without end. A sender asks for room before it sends, after the moment of release: what it
waits is its own lag and is told as such. It must not know what is in an answer or who sends.
"""

import asyncio

from labkit.client.exchange import Exchange

MAX_BYTES = 64 * 2**20
EXCHANGE_BYTES = 700
PIECE_BYTES = 140
"""Of a stamp, its tuple, and the header of the bytes, beside the bytes themselves."""


class Backlog:
    """A queue of ended exchanges that tells when it holds too much."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Take how much may be held before nothing more should be sent."""
        self._max_bytes = max_bytes
        self._ended: asyncio.Queue[tuple[Exchange, int] | None] = asyncio.Queue()
        self._num_bytes = 0
        self._room = asyncio.Event()
        self._room.set()

    async def wait_for_room(self) -> None:
        """Return once no more is held than may be; answers on their way are not counted."""
        await self._room.wait()

    def put(self, exchange: Exchange) -> None:
        """Add one; what is on its way can't be refused."""
        num_bytes = count_bytes(exchange)
        self._num_bytes += num_bytes
        self._ended.put_nowait((exchange, num_bytes))
        if self._num_bytes > self._max_bytes:
            self._room.clear()

    def end(self) -> None:
        """Tell the one who takes that nothing more comes."""
        self._ended.put_nowait(None)

    async def take(self) -> Exchange | None:
        """Return the oldest one, None after the last."""
        ended = await self._ended.get()
        if ended is None:
            return None
        exchange, num_bytes = ended
        self._num_bytes -= num_bytes
        if self._num_bytes <= self._max_bytes:
            self._room.set()
        return exchange


def count_bytes(exchange: Exchange) -> int:
    """Return about how much memory an exchange holds."""
    pieces = exchange.pieces
    return EXCHANGE_BYTES + PIECE_BYTES * len(pieces) + sum(len(piece) for _, piece in pieces)
