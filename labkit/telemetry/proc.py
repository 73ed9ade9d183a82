"""What Linux tells in /proc of the machine and of a process, far cheaper than through psutil.

Files are opened once and read again and again; that of a process which has ended never becomes
another's with the same pid. It must not know what a process is for.
Source: https://docs.kernel.org/filesystems/proc.html
"""

import os
import weakref

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ENDED = (b"Z", b"X")
"""States of a process that has ended and is not waited for yet."""


class File:
    """A file whose start is read from anew each time; raises OSError where there is none."""

    def __init__(self, path: str, num_bytes: int) -> None:
        """Take how much of it is of interest."""
        self._num_bytes = num_bytes
        self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def read(self) -> bytes:
        """Return its start as it is now."""
        return os.pread(self._descriptor, self._num_bytes, 0)


class Machine:
    """All cores and the memory."""

    def __init__(self) -> None:
        self._stat = File("/proc/stat", 256)
        self._meminfo = File("/proc/meminfo", 256)

    def read_cores(self) -> tuple[float, float]:
        """Return (seconds not idle, seconds in all), summed over all cores since the start."""
        first, _, _ = self._stat.read().partition(b"\n")
        # time of guests is in user and nice, too
        times = [int(value) for value in first.split()[1:9]]
        total, idle = sum(times), times[3] + times[4]
        return (total - idle) * TICK_S, total * TICK_S

    def read_memory(self) -> tuple[int, int]:
        """Return (bytes used, bytes in all), where used is all less what is available."""
        words = self._meminfo.read().split()
        total = int(words[words.index(b"MemTotal:") + 1]) * 1024
        return total - int(words[words.index(b"MemAvailable:") + 1]) * 1024, total


class Process:
    """A process; raises OSError where there is none."""

    def __init__(self, pid: int) -> None:
        self._stat = File(f"/proc/{pid}/stat", 1024)

    def read(self) -> tuple[float, int]:
        """Return (seconds of CPU, resident bytes); raises OSError once it has ended."""
        # its name stands in brackets and may hold anything
        fields = self._stat.read().rpartition(b")")[2].split()
        if fields[0] in ENDED:
            raise ProcessLookupError
        return (int(fields[11]) + int(fields[12])) * TICK_S, int(fields[21]) * PAGE_BYTES
