"""What psutil tells of the machine and of a process, for systems other than Linux.

It must not know what a process is for.
"""

import psutil


class Machine:
    """All cores and the memory."""

    def read_cores(self) -> tuple[float, float]:
        """Return (seconds not idle, seconds in all), summed over all cores since the start."""
        times = psutil.cpu_times()
        twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # also in user
        total = sum(times) - twice
        return total - times.idle - getattr(times, "iowait", 0.0), total

    def read_memory(self) -> tuple[int, int]:
        """Return (bytes used, bytes in all), where used is all less what is available."""
        memory = psutil.virtual_memory()
        return memory.total - memory.available, memory.total


class Process:
    """A process; raises OSError where there is none."""

    def __init__(self, pid: int) -> None:
        try:
            self._process = psutil.Process(pid)
        except psutil.Error as error:
            raise ProcessLookupError from error

    def read(self) -> tuple[float, int]:
        """Return (seconds of CPU, resident bytes); raises OSError once it has ended."""
        try:
            if not self._process.is_running():  # its pid may be another's by now
                raise ProcessLookupError
            with self._process.oneshot():
                if self._process.status() == psutil.STATUS_ZOMBIE:
                    raise ProcessLookupError
                times = self._process.cpu_times()
                return times.user + times.system, self._process.memory_info().rss
        except psutil.Error as error:
            raise ProcessLookupError from error
