"""Host rows: hand-made CPU times, and the real process that runs the tests."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from labkit.telemetry import portable, proc
from labkit.telemetry.host import Group, Host


def test_host_utilization_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1 s on two cores: 0.8 s busy of 2 s
    taken = iter([(15.0, 116.0), (15.8, 118.0)])
    monkeypatch.setattr(proc.Machine, "read_cores", lambda machine: next(taken))
    monkeypatch.setattr(portable.Machine, "read_cores", lambda machine: next(taken))
    stamps = iter([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    host = Host(lambda: [], lambda: [], clock=lambda: next(stamps))
    first, second = host.sample(), host.sample()
    assert first["host_cpu_utilization"] is None
    assert second["host_cpu_utilization"] == pytest.approx(0.4)
    assert second["engine_cpu_utilization"] is None
    assert second["client_memory_bytes"] is None


@pytest.fixture(params=["proc", "portable"])
def system(request: pytest.FixtureRequest) -> Any:
    """Each way to look at the system that works on this one."""
    if request.param == "proc" and sys.platform != "linux":
        pytest.skip("/proc is Linux's")
    return {"proc": proc, "portable": portable}[request.param]


def test_cores_and_memory_as_psutil_tells_them(system: Any) -> None:
    machine = system.Machine()
    before = psutil.cpu_times()
    busy_s, total_s = machine.read_cores()
    after = psutil.cpu_times()

    def count(times: Any) -> tuple[float, float]:
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return total - times.idle - getattr(times, "iowait", 0.0), total

    assert count(before)[0] - 1e-6 <= busy_s <= count(after)[0] + 1e-6
    assert count(before)[1] - 1e-6 <= total_s <= count(after)[1] + 1e-6
    used, total = machine.read_memory()
    assert total == psutil.virtual_memory().total
    assert used == pytest.approx(total - psutil.virtual_memory().available, abs=2**27)


def test_a_process_as_psutil_tells_it(system: Any, child: subprocess.Popen[bytes]) -> None:
    process, same = system.Process(child.pid), psutil.Process(child.pid)
    times, (cpu_s, resident_bytes) = same.cpu_times(), process.read()
    assert cpu_s == pytest.approx(times.user + times.system, abs=0.02)
    assert resident_bytes == pytest.approx(same.memory_info().rss, rel=0.1)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and not waited for yet
    with pytest.raises(ProcessLookupError):
        process.read()
    child.wait()
    with pytest.raises(ProcessLookupError):
        process.read()
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        system.Process(child.pid)


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
    cores, both = group.sample(5.0)
    assert alone is not None
    assert both is not None
    assert both > alone + 1_000_000
    assert cores is not None
    assert cores >= 0
    child.kill()
    child.wait()
    cores, last = group.sample(6.0)
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


def test_pids_are_asked_for_every_five_seconds() -> None:
    asked = []

    def pids() -> list[int]:
        asked.append(1)
        return [os.getpid()]

    group = Group(pids)
    for now_s in (0.0, 0.25, 1.0, 4.9):
        assert group.sample(now_s)[1] is not None
    assert len(asked) == 1
    group.sample(5.0)
    assert len(asked) == 2


def test_one_that_ended_counts_no_more_before_pids_are_asked_again(
    child: subprocess.Popen[bytes],
) -> None:
    group = Group(lambda: [os.getpid(), child.pid])
    both = group.sample(0.0)[1]
    child.kill()
    child.wait()
    alone = group.sample(0.1)[1]
    assert both is not None
    assert alone is not None
    assert alone < both
