"""A small process between labkit and an engine that lets no engine outlive its parent.

It is run as a file, `python -I -S guard.py LOG GRACE_S COMMAND...`, so it knows the standard
library only. It starts the command in a session of its own with the log as its output, tells the
command's pid in one JSON line, and then waits for one of two things: the command ends by itself,
which it tells in another line, or the parent is gone (its end of stdin closes, even by kill -9).
Either ends the whole group.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.5


def main() -> int:
    """Run the command and return its exit code, or 128 + the signal that ended it."""
    log, grace_s, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    parent = os.getppid()
    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    terminated: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: terminated.append(number))
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    prctl = _find_prctl()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        pid = _spawn(command, log, prctl)
    except OSError as error:
        _tell({"error": f"{command[0]}: {error.strerror}"})
        return 127
    _tell({"pid": pid})
    status: int | None = None
    while status is None:
        ready, _, _ = select.select([0, wake], [], [], LOOK_S)
        if wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
        status = _reap(pid, status)
        gone = (0 in ready and not os.read(0, 4096)) or os.getppid() != parent
        if status is None and (gone or terminated):
            break
    if status is not None:  # what is left of its group may take its time to end
        _tell({"returncode": status if status >= 0 else 128 - status})
    return _end_group(pid, status, grace_s, wake)


def _spawn(command: list[str], log: str, prctl: Callable[[int, int], None]) -> int:
    guard = os.getpid()

    def prepare() -> None:
        for name in (signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=prepare,
        )
    finally:
        os.close(output)
    return process.pid


def _end_group(pid: int, status: int | None, grace_s: float, wake: int) -> int:
    """Ask what is left of the group to end, and kill it when the grace is over."""
    deadline_s = time.monotonic() + grace_s
    number = int(signal.SIGTERM)
    while _signal_group(pid, number):
        left_s = deadline_s - time.monotonic()
        number = int(signal.SIGKILL) if left_s <= 0 else 0  # 0 only asks who is left
        select.select([wake], [], [], min(max(left_s, 0.02), LOOK_S / 5))
        with contextlib.suppress(BlockingIOError):
            os.read(wake, 4096)
        status = _reap(pid, status)
    while orphans := _list_children():
        for orphan in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        select.select([wake], [], [], 0.02)
        with contextlib.suppress(BlockingIOError):
            os.read(wake, 4096)
        status = _reap(pid, status)
    status = _reap(pid, status)
    if status is None:
        return 1
    return status if status >= 0 else 128 - status


def _list_children() -> list[int]:
    """Return the descendants that left the group and, as their parents ended, came to the guard."""
    guard = os.getpid()
    try:
        with open(f"/proc/{guard}/task/{guard}/children") as file:  # noqa: PTH123
            return [int(word) for word in file.read().split()]
    except OSError:  # not on macOS
        return []


def _signal_group(pid: int, number: int) -> bool:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says this of a group that holds only zombies
        return False
    return True


def _reap(pid: int, status: int | None) -> int | None:
    """Collect every child that ended, and return the command's exit status once it is known."""
    while True:
        try:
            ended, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if ended == 0:
            return status
        if ended == pid:
            status = os.waitstatus_to_exitcode(code)


def _find_prctl() -> Callable[[int, int], None]:
    """Return Linux' prctl, or a function that does nothing elsewhere."""
    if sys.platform != "linux":
        return lambda _option, _value: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda option, value: prctl(option, value, 0, 0, 0) and None


def _tell(fact: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent may be gone
        os.write(1, json.dumps(fact).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
