"""The client against a server that knows the truth: stamps, stalls, schedules."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit.analysis.metrics import summarize_point
from labkit.client.load import Client, LoadResult, Order
from labkit.client.stream import Target
from labkit.params import LoadParams
from labkit.records import PointRecords, read_jsonl
from labkit.workload import Request

TRUTH = Path(__file__).parent.parent / "truth.py"
TTFT_S, GAP_S, NUM_TOKENS = 0.1, 0.02, 50


@contextmanager
def truth(ttft_s: float = TTFT_S, gap_s: float = GAP_S) -> Iterator[str]:
    """Yield the root URL of a server that answers on this schedule."""
    command = [sys.executable, str(TRUTH), str(ttft_s), str(gap_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def ask(url: str) -> Any:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as reply:
        return json.loads(reply.read() or b"null")


def make_requests(count: int, max_tokens: int) -> list[Request]:
    return [Request(f"r{i:05d}", (("user", f"r{i:05d} a"),), max_tokens, 2) for i in range(count)]


def fire(root: str, out: Path, requests: list[Request], load: LoadParams) -> LoadResult:
    target = Target(f"{root}/v1", "m", "completions", 0.0, {}, 30.0)
    order = Order(requests, make_requests(4, 2), target, load, 7, None, out)
    with Client() as client:
        return client.fire(order, on_progress=lambda progress: None, check=lambda: None)


async def read_plainly(root: str, count: int) -> dict[str, list[float]]:
    """Read `count` streams with asyncio's own reader, stamping each read: the measure of care."""
    port = int(root.rpartition(":")[2])
    stamps: dict[str, list[float]] = {}

    async def one(index: int) -> None:
        await asyncio.sleep(0.3 + index * 0.001)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        name = f"p{index:05d}"
        body = json.dumps({"prompt": name, "max_tokens": NUM_TOKENS}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        stamps[name] = [time.monotonic()]
        writer.write(head % len(body) + body)
        while data := await reader.read(65536):
            stamps[name] += [time.monotonic()] * data.count(b'" word"')
            if data.endswith(b"0\r\n\r\n"):
                break
        writer.close()

    await asyncio.gather(*(one(index) for index in range(count)))
    return stamps


def errors_ms(
    told: dict[str, list[float]], true: dict[str, list[float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of TTFT and TPOT of each request, in ms, against the server's own stamps.

    The true TTFT begins where the client's does, with its send; what is judged is when the first
    token is said to have come.
    """
    ttft, tpot = [], []
    for name, stamps in told.items():
        sent = true[name][1:]
        assert len(stamps) - 1 == len(sent)
        ttft.append(stamps[1] - sent[0])
        tpot.append(((stamps[-1] - stamps[1]) - (sent[-1] - sent[0])) / (len(sent) - 1))
    return 1000 * np.array(ttft), 1000 * np.abs(np.array(tpot))


Told = dict[str, tuple[float, float, float]]
"""Name -> (the error of labkit's client, its limit, the error of a plain reader), in ms."""


def compare(streams: int, place: Path) -> Told:
    """Let a plain reader and the client read from one server and return their errors."""
    place.mkdir()
    out = place / "requests.jsonl"
    with truth() as root:
        plain = asyncio.run(read_plainly(root, streams))
        load = LoadParams(max_concurrency=streams)
        fire(root, out, make_requests(streams, NUM_TOKENS), load)
        true = ask(f"{root}/stamps")
    records = read_jsonl(out)
    assert [record["status"] for record in records] == ["ok"] * streams
    ours = {r["request_id"]: [r["sent_at_s"], *r["chunk_at_s"]] for r in records}
    ttft, tpot = errors_ms(ours, true)
    assert ttft.min() > 0, "no token came before it was sent"
    plain_ttft, plain_tpot = errors_ms(plain, true)
    return {
        "ttft p50": (np.median(ttft), 1.0, np.median(plain_ttft)),
        "ttft p99": (np.percentile(ttft, 99), 5.0, np.percentile(plain_ttft, 99)),
        "tpot p50": (np.median(tpot), 0.1, np.median(plain_tpot)),
        "tpot p99": (np.percentile(tpot, 99), 0.5, np.percentile(plain_tpot, 99)),
    }


@pytest.mark.parametrize("streams", [8, 32, 128])
def test_latencies_are_those_of_the_server(streams: int, tmp_path: Path) -> None:
    # Another process on the cores makes either reader late; the best of three is the client's own.
    faults: list[Told] = []
    for attempt in range(3):
        told = compare(streams, tmp_path / str(attempt))
        print(streams, {name: [round(float(one), 3) for one in row] for name, row in told.items()})
        late = {name: row for name, row in told.items() if row[0] > max(row[1], 1.5 * row[2])}
        if not late:
            return
        faults.append(late)
    raise AssertionError(faults)


def point_of(result: LoadResult, load: LoadParams, num_requests: int) -> dict[str, Any]:
    return {
        "status": "ok",
        "load": load.model_dump(mode="json"),
        "workload": {"kind": "synthetic", "num_requests": num_requests},
        "load_started_at_s": result.started_at_s,
        "load_ended_at_s": result.ended_at_s,
        "client": result.client,
    }


def test_a_stall_is_in_the_latency_of_every_request_that_waited(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    load = LoadParams(mode="open", request_rate_per_s=50, max_concurrency=16)
    with truth(ttft_s=0.02, gap_s=0.005) as root:
        begins_at_s = time.monotonic() + 3.0
        ask(f"{root}/stall/{begins_at_s}/{begins_at_s + 2.0}")
        result = fire(root, out, make_requests(250, 4), load)
    records = read_jsonl(out)
    assert {record["status"] for record in records} == {"ok"}
    end_at_s = begins_at_s + 2.0
    # whoever was due in the stall, and early enough that no first token could come before it
    caught = [r for r in records if begins_at_s - 0.02 < r["intended_at_s"] < end_at_s]
    assert len(caught) > 60
    for record in caught:
        waited_s = record["first_token_at_s"] - record["intended_at_s"]
        assert waited_s >= end_at_s - max(record["intended_at_s"], begins_at_s) - 0.001
    held = [r for r in caught if r["released_at_s"] - r["intended_at_s"] > 0.1]
    assert len(held) > 40, "only 16 were in flight, the others waited for a slot"
    row = summarize_point(PointRecords("p", point_of(result, load, 250), records, []))
    assert row["ttft_intended_s"]["p99"] > 1.5
    assert row["e2e_latency_intended_s"]["p95"] > row["e2e_latency_s"]["p95"]


def test_the_schedule_is_kept_or_the_point_is_invalid(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    load = LoadParams(mode="open", request_rate_per_s=500)
    with truth(ttft_s=0.0, gap_s=0.0) as root:
        result = fire(root, out, make_requests(1500, 1), load)
    records = sorted(read_jsonl(out), key=lambda record: record["intended_at_s"])
    assert result.client["num_workers"] == 2
    row = summarize_point(PointRecords("p", point_of(result, load, 1500), records, []))
    drawn_s = records[-1]["intended_at_s"] - records[0]["intended_at_s"]
    sent_s = records[-1]["sent_at_s"] - records[0]["sent_at_s"]
    assert abs(sent_s / drawn_s - 1) < 0.01 or row["validity"] == "INVALID"
    assert abs(drawn_s / (1499 / 500) - 1) < 0.1, "1,499 gaps of 2 ms in the mean"
