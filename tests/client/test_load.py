import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from scripted import Call, answer, serve

from labkit.client.load import Client, LoadResult, Order, Progress
from labkit.client.stream import Target
from labkit.errors import EngineError, LabkitError, ParamsError
from labkit.params import LoadParams
from labkit.records import read_jsonl
from labkit.workload import Request


async def hang(call: Call) -> None:
    await call.closed.wait()


def make_requests(count: int, max_tokens: int = 4) -> list[Request]:
    return [
        Request(f"r{index:05d}", (("user", "time people"),), max_tokens, 2)
        for index in range(count)
    ]


def go(
    url: str,
    out: Path,
    requests: list[Request],
    *,
    on_start: Callable[[int], None] = lambda pid: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_warmup: Callable[[Progress], None] = lambda progress: None,
    check: Callable[[], None] = lambda: None,
    **changes: Any,
) -> LoadResult:
    options: dict[str, Any] = {
        "requests": requests,
        "warmup": [],
        "target": Target(url, "m", "completions", 0.0, {}, 5.0),
        "load": LoadParams(max_concurrency=3),
        "seed": 1,
        "api_key_env": None,
        "out": out,
    }
    with Client() as client:
        on_start(client.pids()[0])
        return client.fire(
            Order(**options | changes), on_progress=on_progress, on_warmup=on_warmup, check=check
        )


def test_every_request_gets_one_record(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    told: list[Progress] = []
    pids: list[int] = []
    with serve(answer) as server:
        result = go(
            server.url, out, make_requests(10), on_progress=told.append, on_start=pids.append
        )
    records = read_jsonl(out)
    assert sorted(r["request_id"] for r in records) == [f"r{i:05d}" for i in range(10)]
    assert {r["status"] for r in records} == {"ok"}
    assert (result.num_done, result.num_error) == (10, 0)
    assert result.started_at_s <= min(r["intended_at_s"] for r in records)
    assert max(r["finished_at_s"] for r in records) <= result.ended_at_s <= time.monotonic()
    assert 0 < result.client["cpu_s"] == result.client["max_worker_cpu_s"] < 5
    assert result.client["num_workers"] == 1
    assert result.client["stall_s"]["n"] >= 1
    elapsed_s = result.ended_at_s - result.started_at_s
    assert told[-1] == Progress(10, 0, 10, 40, pytest.approx(elapsed_s))
    assert len(pids) == 1
    assert not psutil.pid_exists(pids[0])


def test_a_warm_up_goes_first_and_is_in_no_count_or_stamp(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    told: list[Progress] = []
    with serve(answer) as server:
        result = go(
            server.url, out, make_requests(4), warmup=make_requests(2), on_warmup=told.append
        )
        assert len(server.calls) == 6
    warm = read_jsonl(tmp_path / "warmup.jsonl")
    assert (len(warm), len(read_jsonl(out)), result.num_done) == (2, 4, 4)
    assert max(record["finished_at_s"] for record in warm) <= result.started_at_s


def test_concurrency_is_kept_and_connections_are_fresh(tmp_path: Path) -> None:
    async def slow(call: Call) -> None:
        await asyncio.sleep(0.02)
        await answer(call)

    with serve(slow) as server:
        go(server.url, tmp_path / "requests.jsonl", make_requests(12))
        assert server.max_running == 3
        assert server.num_connections == 12


def test_failures_are_records_and_the_rest_goes_on(tmp_path: Path) -> None:
    async def script(call: Call) -> None:
        if call.body["max_tokens"] == 99:
            await call.reply(500, "boom")
        else:
            await answer(call)

    out = tmp_path / "requests.jsonl"
    requests = [*make_requests(2, max_tokens=99), *make_requests(4)]
    with serve(script) as server:
        result = go(server.url, out, requests)
    assert (result.num_done, result.num_error) == (6, 2)
    assert [r["error_message"] for r in read_jsonl(out) if r["status"] == "error"] == ["boom"] * 2


def test_what_check_raises_ends_the_load_and_keeps_the_records(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    pids: list[int] = []
    answered = threading.Event()

    async def script(call: Call) -> None:
        if call.body["max_tokens"] == 99:
            answered.set()
            await hang(call)
        else:
            await answer(call)

    def check() -> None:
        if answered.is_set() and read_jsonl(out):
            raise EngineError("the engine died")

    requests = [*make_requests(1), *make_requests(3, max_tokens=99)]
    with serve(script) as server, pytest.raises(EngineError, match="the engine died"):
        go(server.url, out, requests, check=check, on_start=pids.append)
    assert [r["status"] for r in read_jsonl(out)] == ["ok"]
    assert not psutil.pid_exists(pids[0])


def test_an_interrupt_ends_the_worker(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupt(pid: int) -> None:
        pids.append(pid)
        raise KeyboardInterrupt

    with serve(hang) as server, pytest.raises(KeyboardInterrupt):
        go(server.url, tmp_path / "requests.jsonl", make_requests(2), on_start=interrupt)
    assert not psutil.pid_exists(pids[0])


def test_a_worker_that_is_killed_is_an_error(tmp_path: Path) -> None:
    def shoot(pid: int) -> None:
        os.kill(pid, 9)

    with serve(hang) as server, pytest.raises(LabkitError, match="ended with signal 9"):
        go(server.url, tmp_path / "requests.jsonl", make_requests(2), on_start=shoot)


def test_a_worker_that_fails_tells_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", "canary-123")
    out = tmp_path / "canary-123" / "requests.jsonl"
    with serve(hang) as server, pytest.raises(LabkitError, match="FileNotFoundError") as caught:
        go(server.url, out, make_requests(1), api_key_env="CANARY_KEY")
    assert "exit code 1" in str(caught.value)
    assert "canary-123" not in str(caught.value).split("its last words")[1]
    assert "\n" not in str(caught.value)


def test_a_key_that_is_not_set_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ParamsError, match="export NO_SUCH_KEY"):
        go("http://127.0.0.1:9/v1", tmp_path / "x.jsonl", [], api_key_env="NO_SUCH_KEY")


def test_the_key_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(call: Call) -> None:
        await call.reply(403, f"refused {call.headers['authorization']}")

    monkeypatch.setenv("CANARY_KEY", "canary-123")
    out = tmp_path / "requests.jsonl"
    with serve(script) as server:
        go(server.url, out, make_requests(1), api_key_env="CANARY_KEY")
        assert server.calls[0].headers["authorization"] == "Bearer canary-123"
    assert "refused" in out.read_text()
    assert "canary-123" not in out.read_text()


PARENT = """
import json, sys
from pathlib import Path
from labkit.client.load import Client, Order
from labkit.client.stream import Target
from labkit.params import LoadParams
from labkit.workload import Request
with Client() as client:
    print(json.dumps(client.pids()[0]), flush=True)
    client.fire(Order([Request("r", (("user", "time"),), 1, 1)], [],
        Target(sys.argv[1], "m", "completions", 0.0, {}, 5.0), LoadParams(max_concurrency=1), 1,
        None, Path(sys.argv[2])), on_progress=print, check=lambda: None)
"""


def test_a_worker_whose_parent_was_killed_is_gone(tmp_path: Path) -> None:
    with serve(hang) as server:
        command = [sys.executable, "-c", PARENT, server.url, str(tmp_path / "x.jsonl")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            worker = psutil.Process(json.loads(parent.stdout.readline()))
            parent.kill()
        psutil.wait_procs([worker], timeout=5)
        assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
