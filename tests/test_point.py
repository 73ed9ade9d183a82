"""One point: an engine that dies under the load fails it, though every request had its end."""

import pytest

from labkit.errors import EngineError
from labkit.point import expect_alive


class Engine:
    """One that is known to be dead from the n-th look on."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks <= 0:
            raise EngineError("it ended")


def test_a_death_that_is_known_late_is_waited_for_where_requests_failed() -> None:
    with pytest.raises(EngineError, match="it ended"):
        expect_alive(Engine(3).check, 30.0)


def test_one_look_is_enough_where_none_failed() -> None:
    engine = Engine(2)
    expect_alive(engine.check, 0.0)
    assert engine.looks == 1
