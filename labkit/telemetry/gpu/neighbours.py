"""Whose the processes on a GPU are: the engine's own, somebody else's, or not to be told.

NVML names a process by its pid on the host. In a container the same process has another pid, so
one that is unknown there need not be a stranger. It must not know NVML.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

HOST_NAMESPACE = "pid:[4026531836]"
"""The initial pid namespace of Linux; PROC_PID_INIT_INO in its include/linux/proc_ns.h."""

Pids = Callable[[], Iterable[int]]


def is_host_namespace() -> bool:
    """Tell whether pids here are the host's; False where that is not known."""
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == HOST_NAMESPACE
    except OSError:
        return False


class Neighbours:
    """Tells processes on a GPU apart; each pid is looked up once, while it stays there."""

    def __init__(
        self, own_pids: Pids | None, is_host: Callable[[], bool] = is_host_namespace
    ) -> None:
        """`own_pids` are those of the engine and its descendants, None where it isn't ours."""
        self._own_pids = own_pids
        self._is_host = is_host()
        self._known: dict[int, dict[str, Any]] = {}

    def mark(self, processes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the processes, each with its `name` and `foreign`: True, False or None.

        None means that it can't be told: the engine is not ours, or the pids are those of a host
        that we don't see. That one of the engine's own pids is among them shows that they agree.
        """
        found = list(processes)
        pids = {process["pid"] for process in found}
        if pids - self._known.keys():
            own = set(self._own_pids()) if self._own_pids is not None else set()
            alike = bool(own) and (self._is_host or bool(own & pids))
            self._known = {pid: self._look(pid, own, alike) for pid in pids}
        return [{**process, **self._known[process["pid"]]} for process in found]

    def _look(self, pid: int, own: set[int], alike: bool) -> dict[str, Any]:
        if not alike:
            return {"name": None, "foreign": None}
        try:
            name = psutil.Process(pid).name()
        except psutil.Error:
            name = None
        return {"name": name, "foreign": pid not in own}
