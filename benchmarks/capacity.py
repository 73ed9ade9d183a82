"""What the load client can receive, beside other readers, in one run on this machine.

Two questions, each asked of every reader against the same server that does no work:
  flood   32 streams, 1,000 pieces each, as fast as they go: pieces/s, by wall and by CPU time.
  paced   128 streams, 20 ms between pieces: CPU seconds per 1,000 pieces, parsing included, and
          how late the first piece is said to have come (median and P99, ms).
The readers: asyncio's own streams without parsing (the floor), the same by line with a stamp a
line, labkit's client, the openai client as it comes, and, if --vllm names a file, the request
function of `vllm bench serve` (its vllm/benchmarks/lib/endpoint_request_func.py, which needs
aiohttp and tqdm).

    .venv/bin/python benchmarks/capacity.py [--vllm PATH] [--rounds 3]
"""

import argparse
import asyncio
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import openai

from labkit.client.load import Client, Order
from labkit.client.stream import Target
from labkit.params import LoadParams
from labkit.records import read_jsonl
from labkit.workload import Request

FLOOD = {"streams": 32, "requests": 320, "tokens": 1000, "gap_s": 0.0}
PACED = {"streams": 128, "requests": 256, "tokens": 200, "gap_s": 0.02}

Told = tuple[float, float, dict[str, float]]
"""Wall seconds, CPU seconds, and when the first piece of each request came."""


def main() -> None:
    """Ask every reader both questions, in turn, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vllm", type=Path, help="endpoint_request_func.py of vLLM")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    readers: dict[str, Callable[[str, dict[str, Any]], Told]] = {
        "plain reader": read_plainly,
        "plain, by line": read_lines,
        "labkit": read_with_labkit,
        "openai, parsed": read_with_openai,
    }
    if chosen.vllm:
        readers["vllm bench serve"] = make_vllm_reader(chosen.vllm)
    for title, case in (("flood", FLOOD), ("paced", PACED)):
        print(f"{title}: {case}")
        told: dict[str, list[tuple[float, ...]]] = {name: [] for name in readers}
        for _ in range(chosen.rounds):
            for name, read in readers.items():
                told[name].append(ask(read, case))
        for name, rows in told.items():
            wall, cpu, p50, p99 = (median(column) for column in zip(*rows, strict=True))
            count = case["requests"] * case["tokens"]
            print(
                f"  {name:18} {count / wall:10,.0f} pieces/s  {count / cpu:10,.0f} pieces/CPU-s  "
                f"{1000 * cpu / count:.4f} CPU-s per 1,000"
                + (f"  first piece late by {p50:.2f} / {p99:.2f} ms" if case["gap_s"] else "")
            )


def ask(read: Callable[[str, dict[str, Any]], Told], case: dict[str, Any]) -> tuple[float, ...]:
    """Let one reader read from a fresh server, and compare its stamps with the server's."""
    command = [sys.executable, "-m", "labkit.client.nullserver"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        root = f"http://127.0.0.1:{server.stdout.readline().decode().strip()}"
        wall_s, cpu_s, firsts = read(root, case)
        with urllib.request.urlopen(f"{root}/stamps") as reply:
            true = json.loads(reply.read())
        server.kill()
    late = [1000 * (at_s - true[name][0]) for name, at_s in firsts.items() if name in true] or [0]
    return wall_s, cpu_s, float(np.median(late)), float(np.percentile(late, 99))


def run_closed(case: dict[str, Any], one: Callable[[str], Awaitable[float]]) -> Told:
    """Keep the case's streams busy in this process; `one` returns when its first piece came."""
    firsts: dict[str, float] = {}

    async def load() -> tuple[float, float]:
        names = iter([f"r{index:05d}" for index in range(case["requests"])])

        async def slot(delay_s: float) -> None:
            await asyncio.sleep(delay_s)
            for name in names:
                firsts[name] = await one(name)

        begun_s, cpu_s = time.monotonic(), time.process_time()
        await asyncio.gather(*(slot(0.001 * k) for k in range(case["streams"])))
        return time.monotonic() - begun_s, time.process_time() - cpu_s

    wall_s, cpu_s = asyncio.run(load())
    return wall_s, cpu_s, firsts


def read_plainly(root: str, case: dict[str, Any]) -> Told:
    """Read with asyncio.open_connection; nothing is parsed."""
    port = int(root.rpartition(":")[2])

    async def one(name: str) -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        asked = {"prompt": name, "max_tokens": case["tokens"], "gap_s": case["gap_s"]}
        body = json.dumps(asked).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)
        first_at_s, pieces = 0.0, []
        while data := await reader.read(65536):
            now_s = time.monotonic()
            pieces.append((now_s, data))
            if not first_at_s and b"word" in data:
                first_at_s = now_s
            if data.endswith(b"0\r\n\r\n"):
                break
        writer.close()
        return first_at_s

    return run_closed(case, one)


def read_lines(root: str, case: dict[str, Any]) -> Told:
    """Read with asyncio.open_connection and stamp each line of data; no JSON is parsed."""
    port = int(root.rpartition(":")[2])

    async def one(name: str) -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        asked = {"prompt": name, "max_tokens": case["tokens"], "gap_s": case["gap_s"]}
        body = json.dumps(asked).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)
        pieces = []
        while line := await reader.readline():
            if line.startswith(b"data: [DONE]"):
                break
            if line.startswith(b"data:"):
                pieces.append((time.monotonic(), line))
        writer.close()
        return pieces[0][0]

    return run_closed(case, one)


def read_with_openai(root: str, case: dict[str, Any]) -> Told:
    """Read with the openai client as it comes: typed chunks, its own transport."""

    async def one(name: str) -> float:
        stream = await clients[0].completions.create(
            model="m", prompt=name, max_tokens=case["tokens"], stream=True,
            extra_body={"gap_s": case["gap_s"]},
        )  # fmt: skip
        first_at_s = 0.0
        async for chunk in stream:
            if not first_at_s and chunk.choices and chunk.choices[0].text:
                first_at_s = time.monotonic()
        return first_at_s

    clients = [openai.AsyncOpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0)]
    return run_closed(case, one)


def make_vllm_reader(path: Path) -> Callable[[str, dict[str, Any]], Told]:
    """Return a reader that calls vLLM's own request function, one session for all, as it does."""
    import aiohttp

    spec = importlib.util.spec_from_file_location("vllm_requests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["vllm_requests"] = module
    spec.loader.exec_module(module)

    def read(root: str, case: dict[str, Any]) -> Told:
        session: list[Any] = []

        async def one(name: str) -> float:
            if not session:
                connector = aiohttp.TCPConnector(limit=0)
                timeout = aiohttp.ClientTimeout(total=600)
                session.append(aiohttp.ClientSession(connector=connector, timeout=timeout))
            asked = module.RequestFuncInput(
                prompt=name, api_url=f"{root}/v1/completions", prompt_len=1,
                output_len=case["tokens"], model="m", extra_body={"gap_s": case["gap_s"]},
            )  # fmt: skip
            told = await module.async_request_openai_completions(asked, session[0])
            assert told.success, told.error
            return float(told.start_time) - OFFSET_S + told.ttft

        return run_closed(case, one)

    return read


OFFSET_S = time.perf_counter() - time.monotonic()


def read_with_labkit(root: str, case: dict[str, Any]) -> Told:
    """Read with one worker of labkit's client; its CPU time holds parsing and recording."""
    names = [f"r{index:05d}" for index in range(case["requests"])]
    requests = [Request(name, (("user", name),), case["tokens"], 1) for name in names]
    target = Target(f"{root}/v1", "m", "completions", 0.0, {"gap_s": case["gap_s"]}, 600.0)
    load = LoadParams(max_concurrency=case["streams"], num_workers=1)
    with tempfile.TemporaryDirectory() as place, Client() as client:
        out = Path(place) / "requests.jsonl"
        order = Order(requests, [], target, load, 0, None, out)
        told = client.fire(order, on_progress=lambda progress: None, check=lambda: None)
        firsts = {row["request_id"]: row["first_token_at_s"] for row in read_jsonl(out)}
    return told.ended_at_s - told.started_at_s, told.client["cpu_s"], firsts


if __name__ == "__main__":
    main()
