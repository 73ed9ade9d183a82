"""Whose the processes on a GPU are; the processes are this test's own and its parent."""

import os

import pytest

from labkit.telemetry.gpu.neighbours import Neighbours, is_host_namespace

MINE, OTHER = os.getpid(), os.getppid()


def mark(
    own: list[int] | None, there: list[int], *, host: bool
) -> dict[int, tuple[bool, bool | None]]:
    """Return pid -> (whether it has a name, whether it is foreign)."""
    neighbours = Neighbours(None if own is None else lambda: own, lambda: host)
    rows = neighbours.mark([{"pid": pid, "gpu_memory_used_bytes": 5} for pid in there])
    assert [row["gpu_memory_used_bytes"] for row in rows] == [5] * len(there)
    return {row["pid"]: (row["name"] is not None, row["foreign"]) for row in rows}


@pytest.mark.parametrize(
    ("own", "there", "host", "told"),
    [
        pytest.param([MINE], [OTHER], True, {OTHER: (True, True)}, id="a stranger on the host"),
        pytest.param([MINE], [MINE], True, {MINE: (True, False)}, id="our own"),
        pytest.param([MINE], [OTHER], False, {OTHER: (False, None)}, id="in a container"),
        pytest.param(
            [MINE],
            [MINE, OTHER],
            False,
            {MINE: (True, False), OTHER: (True, True)},
            id="a container that sees its own pids",
        ),
        pytest.param(None, [OTHER], True, {OTHER: (False, None)}, id="an endpoint"),
        pytest.param([], [OTHER], True, {OTHER: (False, None)}, id="an engine that ended"),
    ],
)
def test_who_is_foreign(
    own: list[int] | None,
    there: list[int],
    host: bool,
    told: dict[int, tuple[bool, bool | None]],
) -> None:
    assert mark(own, there, host=host) == told


def test_pids_are_asked_only_when_somebody_new_is_there() -> None:
    asked = []

    def own() -> list[int]:
        asked.append(1)
        return [MINE]

    neighbours = Neighbours(own, lambda: True)
    for there in ([MINE], [MINE], [MINE, OTHER], [MINE]):
        neighbours.mark([{"pid": pid} for pid in there])
    assert len(asked) == 2


def test_a_pid_that_is_gone_has_no_name() -> None:
    gone = 2**22 + 12345
    assert mark([MINE], [gone], host=True) == {gone: (False, True)}


def test_this_namespace_is_told_without_an_error() -> None:
    assert is_host_namespace() in (True, False)
