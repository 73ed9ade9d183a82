import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from labkit.engines.process import check_port, choose_port, is_port_free, start
from labkit.errors import EngineError, ParamsError

FOREVER = "import threading; threading.Event().wait()"
DEAF = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
{FOREVER}
"""
PARENT = f"""
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", {DEAF!r}], start_new_session=len(sys.argv) > 1
)
print("child", child.pid, flush=True)
{FOREVER}
"""
LISTEN = f"""
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
{FOREVER}
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def wait_for(process, text: str) -> str:
    """Wait until the log holds the text, and return the log."""
    deadline_s = time.monotonic() + 10
    while text not in process.read_log():
        assert time.monotonic() < deadline_s, process.read_log()
        time.sleep(0.01)
    return process.read_log()


def test_start_runs_the_command_in_a_session_of_its_own(tmp_path: Path) -> None:
    process = start(python(FOREVER), log=tmp_path / "engine.log")
    try:
        assert process.alive
        assert process.pids() == [process.pid]
        assert os.getsid(process.pid) == process.pid
        process.check()
    finally:
        process.stop()
    assert not process.alive
    assert not psutil.pid_exists(process.pid)
    process.stop()


def test_stop_ends_descendants_that_ignore_sigterm(tmp_path: Path) -> None:
    process = start(python(PARENT), log=tmp_path / "engine.log", grace_s=0.3)
    wait_for(process, "deaf")
    tree = process.pids()
    assert len(tree) == 2
    process.stop()
    assert not any(psutil.pid_exists(pid) for pid in tree)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the guard")
def test_guard_ends_descendants_that_left_the_group(tmp_path: Path) -> None:
    process = start(python(PARENT, "away"), log=tmp_path / "engine.log", grace_s=0.3)
    wait_for(process, "deaf")
    tree = [psutil.Process(pid) for pid in process.pids()]
    assert len({os.getsid(each.pid) for each in tree}) == 2
    os.kill(process.pid, signal.SIGTERM)
    assert psutil.wait_procs(tree, timeout=10)[1] == []
    process.stop()


def test_exit_code_and_the_end_of_the_log_are_told(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("from an earlier start\n")
    process = start(python("import sys; print('out of memory'); sys.exit(7)"), log=log)
    with pytest.raises(EngineError, match=r"exit code 7; its log .*engine.log ends with: out of"):
        process.wait_ready(lambda: False, port=1, timeout_s=10)
    assert process.returncode == 7
    assert "earlier" not in process.tail()
    process.stop()


def test_engine_that_a_signal_ends_is_told(tmp_path: Path) -> None:
    process = start(python(FOREVER), log=tmp_path / "engine.log")
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EngineError, match="exit code 137"):
        process.wait_ready(lambda: False, port=1, timeout_s=10)
    process.stop()


def test_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no-such-engine: No such file"):
        start(["no-such-engine"], log=tmp_path / "engine.log")


def test_engine_that_is_never_ready(tmp_path: Path) -> None:
    process = start(python(FOREVER), log=tmp_path / "engine.log")
    with pytest.raises(EngineError, match=r"within 0.1 s.*start_timeout_s"):
        process.wait_ready(lambda: False, port=1, timeout_s=0.1)
    process.stop()


def test_foreign_process_behind_the_port_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        port = foreign.getsockname()[1]
        process = start(python(FOREVER), log=tmp_path / "engine.log")
        with pytest.raises(EngineError, match=f"behind port {port}, found another process"):
            process.wait_ready(lambda: True, port=port, timeout_s=5)
        process.stop()


def test_own_process_behind_the_port_is_accepted_and_frees_it(tmp_path: Path) -> None:
    port = choose_port()
    process = start(python(LISTEN, str(port)), log=tmp_path / "engine.log")
    wait_for(process, "listening")
    process.wait_ready(lambda: True, port=port, timeout_s=5)
    assert not is_port_free(port)
    process.stop(port)
    assert is_port_free(port)


def test_taken_port_is_the_users_mistake() -> None:
    check_port(None)
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ParamsError, match=r"expected a free port at engine\.port"),
    ):
        check_port(taken.getsockname()[1])


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGKILL])
def test_engine_ends_when_its_guard_is_ended(tmp_path: Path, name: signal.Signals) -> None:
    process = start(python(FOREVER), log=tmp_path / "engine.log")
    engine = psutil.Process(process.pid)
    guard = engine.parent()
    assert guard is not None
    guard.send_signal(name)
    deadline_s = time.monotonic() + 10
    while engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    process.stop()


def test_interrupt_of_the_guard_does_not_reach_the_engine(tmp_path: Path) -> None:
    process = start(python(FOREVER), log=tmp_path / "engine.log")
    guard = psutil.Process(process.pid).parent()
    assert guard is not None
    guard.send_signal(signal.SIGINT)
    threading.Event().wait(0.1)
    assert process.alive
    process.stop()


def test_death_is_known_before_its_descendants_have_ended(tmp_path: Path) -> None:
    process = start(python(PARENT), log=tmp_path / "engine.log", grace_s=30)
    try:
        child = int(wait_for(process, "deaf").split("child ")[1].split()[0])
        os.kill(process.pid, signal.SIGKILL)
        deadline_s = time.monotonic() + 2
        while process.alive:
            assert time.monotonic() < deadline_s
        assert process.returncode == 137
        assert psutil.pid_exists(child)  # it ignores SIGTERM, and the grace is not over
        with pytest.raises(EngineError, match="exit code 137"):
            process.check()
        os.kill(child, signal.SIGKILL)
    finally:
        process.stop()
