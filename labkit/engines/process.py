"""One engine process: started under the guard, watched, waited for, and stopped.

It must not know which engine runs in it. `start` returns an EngineProcess; whatever happens to
this process afterwards, the guard ends the engine's whole process group.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from labkit.errors import EngineError, ParamsError

GUARD = Path(__file__).with_name("guard.py")
HOST = "127.0.0.1"
GRACE_S = 5.0
LOOK_S = 0.05


class EngineProcess:
    """A started engine: `pid`, `returncode` (None while it runs), and its log."""

    def __init__(self, guard: subprocess.Popen[bytes], pid: int, log: Path, start: int) -> None:
        """Take over a guard that told its engine's pid; the log of this start begins at a byte."""
        self.pid = pid
        self.log = log
        self._guard = guard
        self._start = start
        self._returncode: int | None = None
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the engine still runs."""
        return self.returncode is None

    @property
    def returncode(self) -> int | None:
        """The engine's exit code, 128 + the signal that ended it, or None while it runs.

        It is known as soon as the engine itself has ended, whatever its descendants do.
        """
        with self._lock:
            if self._returncode is None:
                self._returncode = _read_returncode(self._guard)
            return self._returncode

    def pids(self) -> list[int]:
        """Return the pids of the engine and all its descendants, which may be none."""
        try:
            engine = psutil.Process(self.pid)
            return [self.pid, *(child.pid for child in engine.children(recursive=True))]
        except psutil.NoSuchProcess:
            return []

    def check(self) -> None:
        """Raise EngineError with the end of the log if the engine is no longer running."""
        if not self.alive:
            raise EngineError(
                f"expected the engine to keep running, found it ended with "
                f"{name_end(self.returncode or 0)}; {self.tail()}"
            )

    def tail(self, num_lines: int = 6) -> str:
        """Return the last lines of this start's log as one line that also names the file."""
        lines = [" ".join(line.split()) for line in self.read_log().splitlines()]
        last = [line for line in lines if line][-num_lines:]
        told = " | ".join(last)[-1500:] or "nothing"
        return f"its log {self.log} ends with: {told}"

    def read_log(self) -> str:
        """Return what the engine wrote since this start (the last MiB of it)."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._start, size - 2**20))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def wait_ready(self, answers: Callable[[], bool], *, port: int, timeout_s: float) -> None:
        """Wait until `answers` says yes and the process behind the port is this engine.

        Raises EngineError if the engine ends first, the time is over, or a foreign process has
        the port.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            self.check()
            if answers():
                break
            if time.monotonic() > deadline_s:
                raise EngineError(
                    f"expected the engine to be ready within {timeout_s:g} s, found it still "
                    f"starting; raise engine.start_timeout_s or look at what it does: {self.tail()}"
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(LOOK_S)
        self.check()
        if not self.owns(port):
            raise EngineError(
                f"expected the engine that was started (pid {self.pid}) behind port {port}, found "
                f"another process there; stop that one or set another engine.port"
            )

    def owns(self, port: int) -> bool:
        """Whether the engine or one of its descendants listens on the port."""
        for pid in self.pids():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                for found in psutil.Process(pid).net_connections(kind="tcp"):
                    if found.status == psutil.CONN_LISTEN and found.laddr.port == port:
                        return True
        return False

    def stop(self, port: int | None = None) -> None:
        """End the engine's whole process tree and wait until it is gone and the port is free.

        SIGTERM first, SIGKILL after 5 s. It may be called again. Raises EngineError if the port
        is still taken afterwards.
        """
        tree = []
        try:
            for pid in self.pids():
                with contextlib.suppress(psutil.NoSuchProcess):
                    tree.append(psutil.Process(pid))
        finally:
            close_guard(self._guard)
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process.kill()  # psutil looks at the start time, so a reused pid is safe
        psutil.wait_procs(tree, timeout=GRACE_S)
        if port is not None:
            wait_port_free(port)


def name_end(returncode: int) -> str:
    """Return how a process ended: "exit code 7", "exit code 137 (SIGKILL)"."""
    names = {128 + one: f" ({one.name})" for one in signal.Signals}
    return f"exit code {returncode}{names.get(returncode, '')}"


def _read_returncode(guard: subprocess.Popen[bytes]) -> int | None:
    """Return what the guard told or ended with, None while there is neither; never waits."""
    pipe = guard.stdout
    if pipe is not None and not pipe.closed:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        told = json.loads(pipe.readline() or b"{}") if poll.poll(0) else {}
        if "returncode" in told:
            return int(told["returncode"])
    return guard.poll()


def start(
    command: list[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    grace_s: float = GRACE_S,
) -> EngineProcess:
    """Start the command under a guard; stdout and stderr are appended to the log.

    Raises EngineError if the command cannot be started.
    """
    log = log.absolute()
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = log.stat().st_size if log.exists() else 0
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), str(log), str(grace_s), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,  # a line more than was asked for would be invisible to select
        env=None if env is None else dict(env),
        start_new_session=True,
    )
    try:
        assert guard.stdout is not None
        told = json.loads(guard.stdout.readline() or b"{}")
        if "pid" not in told:
            raise EngineError(
                f"expected to start {command[0]}, found: {told.get('error', 'no answer')}"
            )
        return EngineProcess(guard, int(told["pid"]), log, begin)
    except BaseException:
        close_guard(guard)
        raise


def close_guard(guard: subprocess.Popen[bytes]) -> None:
    """Let go of the guard, which ends its engine, and wait for both."""
    for pipe in (guard.stdin, guard.stdout):
        if pipe is not None:
            pipe.close()
    try:
        guard.wait(GRACE_S * 2)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def choose_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_port_free(port: int) -> bool:
    """Whether a server could listen on the port of the loopback now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def check_port(port: int | None) -> None:
    """Raise ParamsError if the wanted port is taken; None asks for no certain one."""
    if port is not None and not is_port_free(port):
        raise ParamsError(
            f"expected a free port at engine.port, found {port} in use; choose another or leave "
            f"it out to take a free one"
        )


def wait_port_free(port: int, timeout_s: float = GRACE_S) -> None:
    """Wait until nobody listens on the port; raises EngineError if somebody still does."""
    deadline_s = time.monotonic() + timeout_s
    while not is_port_free(port):
        if time.monotonic() > deadline_s:
            raise EngineError(f"expected port {port} to be free after the engine, found it in use")
        time.sleep(LOOK_S)
