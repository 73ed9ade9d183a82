"""Worker processes: started, armed with their shares, begun together, ended with their owner.

They are spoken to in lines of JSON over pipes. It must not know what is in a share.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Never

import labkit
from labkit.errors import LabkitError

CHECK_PERIOD_S = 0.25
MAX_TAIL_CHARS = 600


class Worker:
    """One process, the end of its pipes, and what it said last."""

    def __init__(self) -> None:
        root = str(Path(labkit.__file__).parents[1])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "labkit.client.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the parent, which then ends the worker
        )
        self.ready = False
        self._rest = b""

    def tell(self, message: dict[str, Any]) -> None:
        """Send one line; a worker that is gone is found out when it is listened to."""
        assert self.process.stdin is not None
        told = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):
            while told:
                told = told[os.write(self.process.stdin.fileno(), told) :]

    def hear(self) -> list[dict[str, Any]] | None:
        """Return the events that are there now, None where the process closed its end."""
        assert self.process.stdout is not None
        piece = os.read(self.process.stdout.fileno(), 65536)
        if not piece:
            return None
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines]

    def stop(self) -> int:
        """End the process, if it has not, and return how it ended."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def last_words(self, redact: Callable[[str], str]) -> str:
        """Return the end of what the process wrote to stderr, redacted before it is cut."""
        self.stderr.seek(0)
        said = redact(self.stderr.read().decode(errors="replace"))
        return " ".join(said.split())[-MAX_TAIL_CHARS:]


class Workers:
    """The workers of a client; some of them, or all, take part in a load."""

    def __init__(self) -> None:
        self._all: list[Worker] = []
        self._taken: list[Worker] = []
        self._redact: Callable[[str], str] = str
        self._out = Path()

    def start(self, count: int) -> None:
        """Start workers until there are `count`; they need about a second to get ready."""
        while len(self._all) < count:
            self._all.append(Worker())

    def stop(self) -> None:
        """End every worker."""
        while self._all:
            self._all.pop().stop()

    def pids(self) -> list[int]:
        """Return the processes of all workers."""
        return [worker.process.pid for worker in self._all]

    def take(self, count: int, redact: Callable[[str], str], out: Path) -> "Workers":
        """Let the first `count` workers take part; `redact` and `out` are for their last words."""
        self.start(count)
        self._taken, self._redact, self._out = self._all[:count], redact, out
        return self

    def arm(self, shares: Sequence[dict[str, Any]], check: Callable[[], None]) -> None:
        """Hand each worker its share and return once all of them could begin."""
        waiting = set()
        for index, worker in enumerate(self._taken):
            if not worker.ready:
                waiting.add((index, "ready"))
            waiting.add((index, "armed"))
            worker.tell(shares[index])
        for index, event in self._listen(check):
            waiting.discard((index, event["event"]))
            if event["event"] == "ready":
                self._taken[index].ready = True
            if not waiting:
                return

    def run(self, started_at_s: float, check: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """Let all begin at one moment and yield (worker, event) until each has said it is done."""
        for worker in self._taken:
            worker.tell({"start_at_s": started_at_s})
        left = len(self._taken)
        for index, event in self._listen(check):
            yield index, event
            left -= event["event"] == "done"
            if not left:
                return

    def _listen(self, check: Callable[[], None]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield what the workers that take part say, calling `check` in between."""
        check_at_s = time.monotonic() + CHECK_PERIOD_S
        with selectors.DefaultSelector() as selector:
            for index, worker in enumerate(self._taken):
                assert worker.process.stdout is not None
                selector.register(worker.process.stdout, selectors.EVENT_READ, index)
            while True:
                for key, _ in selector.select(max(0.0, check_at_s - time.monotonic())):
                    events = self._taken[key.data].hear()
                    if events is None:
                        self._fail(self._taken[key.data])
                    for event in events:
                        yield key.data, event
                if time.monotonic() >= check_at_s:
                    check()
                    check_at_s = time.monotonic() + CHECK_PERIOD_S

    def _fail(self, worker: Worker) -> Never:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(timeout=5)
        said = worker.last_words(self._redact)
        code = worker.stop()
        self._all.remove(worker)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise LabkitError(
            f"expected the load client to send every request, found it ended with {how}; "
            f"{self._out} holds what was recorded; its last words: {said or 'none'}"
        )
