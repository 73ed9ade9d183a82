import asyncio

from labkit.client.backlog import EXCHANGE_BYTES, PIECE_BYTES, Backlog, count_bytes
from labkit.client.exchange import Exchange


def make(*pieces: bytes) -> Exchange:
    return Exchange("r", 0.0, 0.0, pieces=[(1.0, piece) for piece in pieces])


def test_an_exchange_costs_its_bytes_and_what_each_piece_takes() -> None:
    assert count_bytes(make()) == EXCHANGE_BYTES
    assert count_bytes(make(b"abc", b"de")) == EXCHANGE_BYTES + 2 * PIECE_BYTES + 5


def test_there_is_room_again_once_enough_was_taken() -> None:
    async def play() -> None:
        first, second = make(b"a" * 1000), make(b"b" * 1000)
        backlog = Backlog(count_bytes(first))
        backlog.put(first)
        await backlog.wait_for_room()
        backlog.put(second)
        backlog.end()
        waiting = asyncio.create_task(backlog.wait_for_room())
        await asyncio.sleep(0)
        assert not waiting.done()
        assert await backlog.take() is first
        await waiting
        assert await backlog.take() is second
        assert await backlog.take() is None

    asyncio.run(play())
