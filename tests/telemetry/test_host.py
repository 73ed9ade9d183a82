"""Host rows: hand-made CPU times, and the real process that runs the tests."""

import os
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator

import psutil
import pytest

from labkit.telemetry.host import Group, Host

Times = namedtuple("Times", "user nice system idle iowait irq guest guest_nice")


def test_host_utilization_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1 s on two cores: +0.6 user (of which 0.1 guest), +0.2 system, +1.1 idle, +0.1 iowait
    taken = iter([
        Times(10.0, 0.0, 5.0, 100.0, 1.0, 0.0, 2.0, 0.0),
        Times(10.6, 0.0, 5.2, 101.1, 1.1, 0.0, 2.1, 0.0),
    ])  # fmt: skip
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(taken))
    stamps = iter([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    host = Host(lambda: [], lambda: [], clock=lambda: next(stamps))
    first, second = host.sample(), host.sample()
    assert first["host_cpu_utilization"] is None
    # guest is part of user: busy is 0.6 + 0.2, all is 0.8 + 1.1 + 0.1
    assert second["host_cpu_utilization"] == pytest.approx(0.4)
    assert second["engine_cpu_utilization"] is None
    assert second["client_memory_bytes"] is None


def test_the_memory_of_this_machine() -> None:
    row = Host(lambda: [os.getpid()], lambda: []).sample()
    assert 0 < row["host_memory_used_bytes"] < row["host_memory_total_bytes"]
    assert row["host_memory_total_bytes"] == psutil.virtual_memory().total
    assert 1_000_000 < row["engine_memory_bytes"] < row["host_memory_total_bytes"]
    assert row["engine_cpu_utilization"] is None


def test_cores_are_cpu_time_over_time() -> None:
    group = Group(lambda: [os.getpid()])
    before = psutil.Process().cpu_times()
    group.sample(100.0)
    spent_s, until_s = 0.0, time.process_time() + 0.1
    while time.process_time() < until_s:
        spent_s += 1.0
    cores, _ = group.sample(100.5)
    after = psutil.Process().cpu_times()
    most = (after.user + after.system - before.user - before.system) / 0.5
    assert cores is not None
    assert 0.15 < cores <= most + 1e-9


def test_a_rate_over_too_short_a_time_is_not_told_and_keeps_its_beginning() -> None:
    group = Group(lambda: [os.getpid()])
    group.sample(0.0)
    assert group.sample(0.01)[0] is None
    assert group.sample(0.5)[0] is not None


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_processes_come_and_go(child: subprocess.Popen[bytes]) -> None:
    pids = [os.getpid()]
    group = Group(lambda: pids)
    _, alone = group.sample(0.0)
    pids.append(child.pid)
    cores, both = group.sample(1.0)
    assert alone is not None
    assert both is not None
    assert both > alone + 1_000_000
    assert cores is not None
    assert cores >= 0
    child.kill()
    child.wait()
    cores, last = group.sample(2.0)
    assert last is not None
    assert last < both
    assert cores is not None
    assert cores >= 0


def test_nobody_left(child: subprocess.Popen[bytes]) -> None:
    group = Group(lambda: [child.pid])
    assert group.sample(0.0)[1] is not None
    child.kill()
    child.wait()
    assert group.sample(1.0) == (None, None)


def test_a_pid_that_never_was() -> None:
    assert Group(lambda: [2**22 + 12345]).sample(0.0) == (None, None)


def test_pids_are_asked_for_once_a_second() -> None:
    asked = []

    def pids() -> list[int]:
        asked.append(1)
        return [os.getpid()]

    group = Group(pids)
    for now_s in (0.0, 0.25, 0.5, 0.75):
        assert group.sample(now_s)[1] is not None
    assert len(asked) == 1
    group.sample(1.0)
    assert len(asked) == 2


def test_one_that_ended_counts_no_more_before_pids_are_asked_again() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        group = Group(lambda: [os.getpid(), child.pid])
        both = group.sample(0.0)[1]
        child.kill()
        child.wait()
        alone = group.sample(0.1)[1]
    assert both is not None
    assert alone is not None
    assert alone < both
