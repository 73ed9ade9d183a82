"""One sample of the host: its cores and memory, and what engine and client take of them.

The processes are given by their pids, asked anew each second. It must not know what they are.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil

Pids = Callable[[], Iterable[int]]

MIN_INTERVAL_S = 0.05
"""The system counts CPU time in steps of 10 ms: a rate over less than this would be noise."""


PIDS_EVERY_S = 1.0
"""How often the pids are asked for: finding a process's descendants looks through all there are."""


class Host:
    """The machine and two groups of processes; rates are taken since the sample before."""

    def __init__(
        self, engine_pids: Pids, client_pids: Pids, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._cores: tuple[float, float, float] | None = None
        self._groups = {"engine": Group(engine_pids), "client": Group(client_pids)}

    def sample(self) -> dict[str, Any]:
        """Return one row; a rate is None in the first, and within 0.05 s of the one before.

        host_cpu_utilization is the share 0..1 of all cores that was not idle; memory used is total
        less available; *_cpu_utilization is in cores; *_memory_bytes is resident memory, where
        pages that processes share count for each.
        """
        memory = psutil.virtual_memory()
        row: dict[str, Any] = {
            "host_cpu_utilization": self._utilization(),
            "host_memory_used_bytes": memory.total - memory.available,
            "host_memory_total_bytes": memory.total,
        }
        for name, group in self._groups.items():
            row[f"{name}_cpu_utilization"], row[f"{name}_memory_bytes"] = group.sample(
                self._clock()
            )
        return row

    def _utilization(self) -> float | None:
        times = psutil.cpu_times()
        twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # also in user
        total = sum(times) - twice
        busy = total - times.idle - getattr(times, "iowait", 0.0)
        now_s = self._clock()
        if self._cores is None:
            self._cores = (now_s, busy, total)
            return None
        at_s, busy_before, total_before = self._cores
        if now_s - at_s < MIN_INTERVAL_S or total <= total_before:
            return None
        self._cores = (now_s, busy, total)
        return min(1.0, max(0.0, (busy - busy_before) / (total - total_before)))


class Group:
    """Processes that are counted together; they may come and go."""

    def __init__(self, pids: Pids) -> None:
        self._pids = pids
        self._known: dict[int, psutil.Process] = {}
        self._asked_at_s: float | None = None
        self._before: tuple[float, dict[psutil.Process, float]] | None = None

    def sample(self, now_s: float) -> tuple[float | None, int | None]:
        """Return (cores in use since the sample before, resident bytes), None where none is alive.

        A process counts from the first sample that sees it to the last one.
        """
        cpu_s: dict[psutil.Process, float] = {}
        memory_bytes = 0
        for process in self._alive(now_s):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory_bytes += process.memory_info().rss
            except psutil.Error:
                continue
            cpu_s[process] = times.user + times.system
        if not cpu_s:
            self._before = None
            return None, None
        cores = None
        if self._before is None:
            self._before = (now_s, cpu_s)
        elif now_s - self._before[0] >= MIN_INTERVAL_S:
            at_s, before = self._before
            both = cpu_s.keys() & before.keys()
            if both:
                grown_s = sum(cpu_s[process] - before[process] for process in both)
                cores = max(0.0, grown_s) / (now_s - at_s)
            self._before = (now_s, cpu_s)
        return cores, memory_bytes

    def _alive(self, now_s: float) -> Iterator[psutil.Process]:
        if not self._known or self._asked_at_s is None or now_s - self._asked_at_s >= PIDS_EVERY_S:
            self._asked_at_s = now_s
            self._known = dict(self._find())
        else:  # a pid that ended may be another's by now
            self._known = {pid: one for pid, one in self._known.items() if one.is_running()}
        yield from self._known.values()

    def _find(self) -> Iterator[tuple[int, psutil.Process]]:
        for pid in dict.fromkeys(self._pids()):
            process = self._known.get(pid)
            try:
                if process is None or not process.is_running():
                    process = psutil.Process(pid)
            except psutil.Error:
                continue
            yield pid, process
