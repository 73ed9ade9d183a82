"""One sample of the host: its cores and memory, and what engine and client take of them.

The processes are given by their pids. It must not know what they are, or how they are looked at.
"""

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from labkit.telemetry import portable, proc

Pids = Callable[[], Iterable[int]]
Process = proc.Process | portable.Process

IS_LINUX = platform.system() == "Linux"

MIN_INTERVAL_S = 0.05
"""The system counts CPU time in steps of 10 ms: a rate over less than this would be noise."""

PIDS_EVERY_S = 5.0
"""How often the pids are asked for: finding a process's descendants looks through all there are."""


class Host:
    """The machine and two groups of processes; rates are taken since the sample before."""

    def __init__(
        self, engine_pids: Pids, client_pids: Pids, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._machine = proc.Machine() if IS_LINUX else portable.Machine()
        self._cores: tuple[float, float, float] | None = None
        self._groups = {"engine": Group(engine_pids), "client": Group(client_pids)}

    def sample(self) -> dict[str, Any]:
        """Return one row; a rate is None in the first, and within 0.05 s of the one before.

        host_cpu_utilization is the share 0..1 of all cores that was not idle; memory used is total
        less available; *_cpu_utilization is in cores; *_memory_bytes is resident memory, where
        pages that processes share count for each. A process that began later than the load counts
        from up to 5 s after its start.
        """
        used_bytes, total_bytes = self._machine.read_memory()
        row: dict[str, Any] = {
            "host_cpu_utilization": self._utilization(),
            "host_memory_used_bytes": used_bytes,
            "host_memory_total_bytes": total_bytes,
        }
        for name, group in self._groups.items():
            row[f"{name}_cpu_utilization"], row[f"{name}_memory_bytes"] = group.sample(
                self._clock()
            )
        return row

    def _utilization(self) -> float | None:
        busy, total = self._machine.read_cores()
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
        self._known: dict[int, Process] = {}
        self._asked_at_s: float | None = None
        self._before: tuple[float, dict[Process, float]] | None = None

    def sample(self, now_s: float) -> tuple[float | None, int | None]:
        """Return (cores in use since the sample before, resident bytes), None where none is alive.

        A process counts from the first sample that sees it to the last one.
        """
        cpu_s: dict[Process, float] = {}
        memory_bytes = 0
        self._ask(now_s)
        for pid, process in list(self._known.items()):
            try:
                cpu_s[process], resident_bytes = process.read()
            except OSError:  # it ended
                del self._known[pid]
                continue
            memory_bytes += resident_bytes
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

    def _ask(self, now_s: float) -> None:
        """Ask for the pids if it is time to, or if nobody is known to be there."""
        if self._known and self._asked_at_s is not None and now_s - self._asked_at_s < PIDS_EVERY_S:
            return
        self._asked_at_s = now_s
        self._known = dict(self._find())

    def _find(self) -> Iterator[tuple[int, Process]]:
        for pid in dict.fromkeys(self._pids()):
            try:
                yield pid, self._known.get(pid) or _open_process(pid)
            except OSError:
                continue


def _open_process(pid: int) -> Process:
    return proc.Process(pid) if IS_LINUX else portable.Process(pid)
